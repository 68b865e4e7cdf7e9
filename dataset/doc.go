// Package dataset reads training data and makes batches of it.
//
// A [Dataset] is rows of named columns, together with the operations that turn them into batches:
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
// Tensors are those of gorgonia.org/tensor, used only as containers: shape, type and memory. That package makes a
// program 16 MB larger (11 MB without symbols, on linux/amd64) and delays its start by 2 to 5 ms: it links engines for
// every type, gonum's BLAS and LAPACK, two protobuf libraries, Arrow, flatbuffers and encoding/gob, and registers types
// at start. A program that imports it can't leave these out.
//
// # Sources
//
// Rows come from columns in memory ([FromColumns]), from structs ([FromStructs]), from functions ([Generate],
// [FromSeq]), from text files ([FromFiles], [Files]) in one of the formats [CSV], [JSONLines], [LibSVM], [SlotText],
// [MultiSlot], [Criteo] or your own [Format], from IDX files ([MNIST]), or from your own [Source] or [Indexed]. Files
// in gzip or zstd are decompressed, regardless of their names. Package dataset/parquet reads Parquet. Loading files
// into memory uses all cores (see Files.Threads).
//
// [Dataset.Rename] names columns after the model's feeds, [Dataset.Select] chooses columns, [Dataset.MapFloats],
// [Dataset.MapInts] and [Dataset.MapRows] change values, and [Dataset.Filter] leaves rows out. [Dataset.Map] changes
// batches.
//
// Rows of an indexed source are in memory or made on demand, so they can be counted and shuffled. Rows of files are
// streamed until [Dataset.Load]. All operations except [Dataset.Shuffle] work on both, and select the same rows from
// both.
//
// # Reproducible order
//
// Methods don't change a dataset, and every order is a function of a seed and [Dataset.Epoch]. Workers that shuffle
// with the same seed and then take a [Dataset.Shard] divide every epoch's rows without overlap. A worker that resumes
// continues with [Dataset.Skip], or leaves that to the training loop. [Dataset.Split], Take and Skip divide the rows
// once: the parts have the same rows in every epoch, each in its own order. [Dataset.SplitLast] holds out the latest
// rows by a time column, and [Dataset.SplitGroups] keeps the rows of a user together, as
// [Dataset.ShuffleGroups] does within batches.
//
// A job can resume in the middle of an epoch only if its data come in the same order again. That holds for every
// [Dataset], with any operations; for streamed files, as in a [QueueDataset], if the list and the files are unchanged;
// and for an [InMemoryDataset] that has loaded the same files and continues with the right number of LocalShuffles
// ([InMemoryDataset.SetShuffles]). Rows that GlobalShuffle has moved between workers depend on all exchanges so far:
// load them anew for each epoch, or give GlobalShuffle the same list on all workers. A Generate, Source, PipeCommand or
// MultiSlotDataGenerator that uses unseeded random numbers changes the order. If the order differs, the resumed job
// skips the right number of samples, but not the same ones.
//
// [Dataset.RandomShard] gives each worker random rows of files that do not fit into memory.
//
// # Waiting for data
//
// Loading ends with its context, and so does a loop over [Dataset.BatchesContext], even while a pipe or a pipe command
// writes nothing. The command is then terminated with all processes that it has started, as it is when a loop breaks.
//
// # Scaling
//
// To standardize a number or take its logarithm, put a [Scaling] into the schema of [CSV], [JSONLines] or package
// dataset/parquet, so that a saved model scales the lines that it scores as in training. [Dataset.Moments] computes
// mean and deviation, and [MomentsOfAll] those over all workers. The effects of MapFloats, MapRows and Map are not part
// of a format: a program that serves the model must repeat them. [SlotText], [MultiSlot] and [LibSVM] use numbers as
// written; the program that writes them must scale them.
//
// # Several values in a field
//
// A varying column has any number of values per row: a JSON or Parquet array, or a text that its Separator splits, such
// as "rock|pop" or the words of a sentence. EmbeddingPool of package nn combines their embedding rows into one.
//
// # Derived fields
//
// A [Derived] field of [CSV], [JSONLines] and package dataset/parquet is computed from others: the hour of a time, the
// bucket of a number, or the cross of several categories. The schema uses it like a field of the file, to be hashed,
// scaled or taken unchanged. Its definition is part of the format, so that a saved model computes it as training did.
//
// # Lines outside files
//
// A [Decoder] parses the few lines of a request exactly as a dataset parses a file. [DescribeFormat] writes a format
// with its options as JSON, and [ReadFormat] restores it, so that a service can read its requests as training read its
// files.
//
// # Bad data
//
// Each row records its file and line ([Table.Place]), for error messages.
//
// A line that can't be parsed ends the pass with a [LineError]: file, line, field, the expected value and the actual
// text. A pass without rows is an error too ([ErrNoRows]), which says what is empty or which option left nothing. If a
// worker's share may be empty, use [Dataset.MayBeEmpty], and the option of that name in package nn's TrainOptions.
// [Files.SkipBad] skips some bad lines; the log, and Skipped of [InMemoryDataset] and [QueueDataset], report their
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
// Datasets:
//
//	dataset.go  rows, and the operations that turn them into batches
//	source.go   sources of rows
//	column.go   a feed's name, type and shape
//	table.go    rows in memory, column by column
//	store.go    the values of one column
//	row.go      a row while it is written
//	origins.go  the file and line of a row
//	errors.go   errors
//	empty.go    why a pass had no rows
//
// Orders and selections:
//
//	view.go     the order of rows in memory
//	shuffle.go  random orders, by seed
//	select.go   Take, Skip, Split, Shard
//	splitby.go  Split by the values of a column
//	columns.go  other names, other columns, other values; Filter
//	moments.go  statistics of a column's numbers
//	digest.go   checksums of rows, to compare workers
//
// Batches:
//
//	batches.go   one pass, divided into batches
//	batch.go     the tensors of a step
//	prefetch.go  batches made ahead
//
// Rows made in memory:
//
//	memory.go    columns in memory
//	structs.go   structs, in a slice or a sequence
//	generate.go  rows computed on demand
//	idx.go       IDX files, MNIST
//
// Files:
//
//	files.go                              a list of files, and SkipBad
//	linereader.go                         their lines, one after the other
//	filesreader.go                        one pass over them
//	parallel.go                           the same, parsed by several goroutines
//	open.go                               plain or packed, from a file system or the machine
//	pipe.go, pipe_unix.go, pipe_other.go  files filtered by a shell command
//	interrupt.go                          reads that end with a context
//	progress.go                           log lines of long loads
//	lines.go                              lines, of bounded length
//	skips.go                              skipped bad lines
//	fileshard.go                          a worker's files
//
// Formats:
//
//	format.go     Format and Parser
//	describe.go   formats as JSON, by name
//	option.go     their options
//	only.go       formats with fewer columns
//	decoder.go    a few lines at a time
//	split.go      a line divided into fields
//	number.go     numbers parsed from text
//	hash.go       ids of categories
//	derived.go    fields computed from others
//	scaling.go    scaled numbers
//	criteo.go     Criteo's TSV
//	csv.go        the schema of CSV files
//	csvparser.go  a row of a line
//	jsonlines.go  JSON objects
//	texts.go      a field's texts, besides the schema's columns
//	missed.go     names that occur in no line
//	libsvm.go     a label and "index:value"
//	slots.go      columns of slots
//	slottext.go   "slot:value"
//	multislot.go  counts and values
//	generator.go  programs that write multi-slot text
//
// Fleet's datasets:
//
//	inmemory.go       InMemoryDataset
//	queue.go          QueueDataset
//	globalshuffle.go  rows shuffled among workers
//	exchange.go       the messages with the rows
