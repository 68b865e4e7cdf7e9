// Package dataset is where batches come from.
//
// A [Dataset] is rows of named columns and what happens to them on the way to a training step:
//
//	rows, err := dataset.FromFiles(dataset.Criteo{}, "part-0", "part-1.gz").Load(ctx)
//	train, test := rows.Split(0.8, 1)
//	for epoch := range 2 {
//		for batch, err := range train.Shuffle(7).Epoch(epoch).Shard(worker, workers).Batches(512) {
//			…
//		}
//	}
//
// A [Batch] is a map from feed name to tensor: float32, int64 or, for ids of 64 bits, uint64, [N, Shape...]. It belongs
// to the loop until two more batches have been yielded; then its memory is used again, so that a steady loop allocates
// nothing.
//
// Tensors are gorgonia.org/tensor's, of which only the container is used: shape, type and memory. It makes a
// program 16 MB larger (11 MB without symbols, on linux/amd64) and its start 2 to 5 ms longer, since it links engines
// for every type, gonum's BLAS and LAPACK, both libraries of protobuf, Arrow, flatbuffers and encoding/gob, and
// registers types of them as the program starts. A program that imports it can leave none of these out.
//
// # Sources
//
// Rows come from columns in memory ([FromColumns]), from structs ([FromStructs]), from functions ([Generate],
// [FromSeq]), from text files ([FromFiles], [Files]) in one of the formats [CSV], [JSONLines], [LibSVM], [SlotText],
// [MultiSlot], [Criteo] or a user's own [Format], from IDX files ([MNIST]), or from a user's own [Source] or [Indexed].
// Files are unpacked if they are gzip or zstd, whatever their names. Package dataset/parquet reads Parquet. All cores
// read files that are loaded into memory ([Files] has Threads).
//
// Columns are named as the model's feeds by [Dataset.Rename], chosen by [Dataset.Select] and changed by
// [Dataset.MapFloats], [Dataset.MapInts] and [Dataset.MapRows]; [Dataset.Filter] leaves rows out. [Dataset.Map] changes
// batches.
//
// Rows of an indexed source lie in memory or are made on demand: they can be counted and shuffled. Rows of files
// stream by until [Dataset.Load]; everything but [Dataset.Shuffle] works on both, and keeps the same rows of both.
//
// # The same again
//
// No method changes a dataset, and no order is left to chance: an order is a function of a seed and [Dataset.Epoch].
// Workers that shuffle with the same seed and then take a [Dataset.Shard] share every epoch's rows without overlap, and
// a worker that comes back goes on with [Dataset.Skip], or leaves that to the training loop. A cut ([Dataset.Split],
// Take, Skip) is made once: its parts have the same rows in every epoch, in an order of their own. Where rows have a
// time, [Dataset.SplitLast] keeps the latest apart, and [Dataset.SplitGroups] keeps a user's together.
//
// What comes in the same order again, so that a job goes on in the middle of an epoch: every [Dataset], whatever is
// done to it; files that stream by, as a [QueueDataset] has them, as long as the list and the files are the same; an
// [InMemoryDataset] that has loaded the same files and made its LocalShuffle with the same number
// ([InMemoryDataset.SetShuffles]). Rows that GlobalShuffle has moved from worker to worker are where the exchanges so
// far have left them: load them anew for each epoch, or give GlobalShuffle a list that is the same on all workers. A
// Generate, Source or PipeCommand that draws lots comes in another order, and so does a MultiSlotDataGenerator that
// does. Where the order is another, as many samples are left out, but not the same.
//
// [Dataset.RandomShard] gives each worker random rows of files that are too long for memory.
//
// # Waiting for data
//
// Loading ends with its context, and so does a loop over [Dataset.BatchesContext], also where a pipe or a pipe command
// writes nothing more: the command ends with all that it has started. So it does when a loop breaks.
//
// # Numbers of another scale
//
// A number that is to be standardized, or whose logarithm is to be taken, has its [Scaling] in the schema of [CSV],
// [JSONLines] and package dataset/parquet, so that the lines that a saved model scores are scaled as in training.
// [Dataset.Moments] tells mean and deviation, and [MomentsOfAll] all workers'. What MapFloats, MapRows and Map do is in
// no format: a program that serves the model has to do it again. [SlotText], [MultiSlot] and [LibSVM] take numbers as
// they stand there, scaled by the program that writes them.
//
// # Several values in a field
//
// A varying column has any number of values a row: an array of JSON or Parquet, or what its Separator parts of a text,
// such as "rock|pop" or the words of a sentence. EmbeddingPool of package nn makes one row of theirs.
//
// # Fields made of others
//
// The hour of a time, the bucket of a number, two categories as one: a [Derived] of [CSV], [JSONLines] and package
// dataset/parquet is a field that the schema names as one of the file's, to be hashed, scaled or taken as it is. What
// it is made of stands in the format too, so that a saved model derives it as training did.
//
// # Lines that are no files
//
// A [Decoder] parses the few lines of a request exactly as a dataset parses a file.
// [DescribeFormat] writes a format down with its options, and [ReadFormat] makes it again, so that a service can read
// its requests as training read its files.
//
// # Bad data
//
// A row keeps the file and the line that it comes from ([Table.Place]), for messages.
//
// A line that can't be understood ends the pass with an error that tells file, line, field, what was wanted and what
// stood there ([LineError]). So does a pass without a row ([ErrNoRows]), which says what is empty or which option left
// nothing; a worker whose part may be nothing says so ([Dataset.MayBeEmpty], and TrainOptions of package nn).
// [Files.SkipBad] passes over some bad lines; the log, and Skipped of [InMemoryDataset] and [QueueDataset], have their
// number and the first of them.
//
// # For users of Fleet
//
//	paddle.batch(reader, n), DataLoader(…, drop_last, shuffle)    Batches(n), DropLast, Shuffle
//	set_sample_generator(reader)                                  FromSeq, or New with a Source
//	feeder.feed(data)                                             FromStructs(rows).Batch(ctx), or Floats, Ints and IDs of package nn
//	InMemoryDataset, QueueDataset                                 InMemoryDataset, QueueDataset
//	  init(batch_size, use_var, pipe_command)                     BatchSize, the columns of Format, PipeCommand
//	  a slot of type uint64                                       IDs, or Varying(IDs(…))
//	  thread_num                                                  TrainThreads of package nn, with a Shard for each thread
//	  set_filelist, load_into_memory, release_memory              SetFileList, LoadIntoMemory, ReleaseMemory
//	  preload_into_memory, wait_preload_done                      PreloadIntoMemory, WaitPreloadDone
//	  local_shuffle, global_shuffle(fleet)                        LocalShuffle(seed), GlobalShuffle(ctx, f, seed)
//	  get_memory_data_size(fleet)                                 MemoryDataSize; of all workers, fleet.Fleet.AllReduceInts
//	MultiSlotDataGenerator                                        MultiSlotDataGenerator
//	fleet.split_files, util.get_file_shard                        FileShard, GetFileShard of package fleet/paddle
//	exe.train_from_dataset, infer_from_dataset                    Executor.TrainFrom and Eval of package nn
package dataset

// The files of this package, in reading order.
//
// What a dataset is:
//
//	dataset.go  rows, and what is to be done to them on the way to a batch
//	source.go   where rows come from
//	column.go   a feed's name, type and shape
//	table.go    rows in memory, column by column
//	store.go    the values of one column
//	row.go      a row while it is written
//	origins.go  the file and line that it comes from
//	errors.go   what can be wrong
//	empty.go    why a pass had no rows
//
// Orders and choices:
//
//	view.go     the order in which rows in memory go by
//	shuffle.go  random orders, by seed
//	select.go   Take, Skip, Split, Shard
//	splitby.go  Split by the values of a column
//	columns.go  other names, other columns, other values; Filter
//	moments.go  what a column's numbers are like
//	digest.go   whether rows are the same elsewhere
//
// Batches:
//
//	batches.go   one pass, cut into batches
//	batch.go     what a step is fed
//	prefetch.go  batches made ahead
//
// Rows made in memory:
//
//	memory.go    columns that are there
//	structs.go   structs, in hand or made one after the other
//	generate.go  rows made when they are asked for
//	idx.go       IDX files, MNIST
//
// Files:
//
//	files.go                              a list of them, and SkipBad
//	linereader.go                         their lines, one after the other
//	filesreader.go                        one pass over them
//	parallel.go                           the same, parsed by several goroutines
//	open.go                               plain or packed, from a file system or the machine
//	pipe.go, pipe_unix.go, pipe_other.go  what a shell command makes of a file
//	interrupt.go                          reads that end with a context
//	progress.go                           loads that take long are logged
//	lines.go                              lines, of bounded length
//	skips.go                              bad lines that were passed over
//	fileshard.go                          a worker's files
//
// Formats:
//
//	format.go     Format and Parser
//	describe.go   formats as JSON, by name
//	option.go     their options
//	only.go       formats with fewer columns
//	decoder.go    lines that come a few at a time
//	split.go      a line cut into fields
//	number.go     numbers out of text
//	hash.go       ids of categories
//	derived.go    fields made of others
//	scaling.go    numbers of another scale
//	criteo.go     Criteo's TSV
//	csv.go        CSV
//	jsonlines.go  JSON objects
//	texts.go      a field's texts, beside what the schema makes of it
//	missed.go     names that are in none of them
//	libsvm.go     a label and "index:value"
//	slots.go      columns that slots fill
//	slottext.go   "slot:value"
//	multislot.go  counts and values
//	generator.go  programs that write the last
//
// Fleet's datasets:
//
//	inmemory.go       InMemoryDataset
//	queue.go          QueueDataset
//	globalshuffle.go  rows shuffled among workers
//	exchange.go       the messages by which they travel
