// Package strategy says how a job trains, as plain data: which mode, where parameters live, how messages are compressed,
// how long to wait. A Strategy holds names and numbers only, so it can be compared, printed, and kept in a file:
//
//	s := strategy.Sync()
//	s.Placement = "HashName"
//	s.Codec = "zstd"
//	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 1e-3}, s)
//
// or, from a file,
//
//	s, err := strategy.Load("strategy.json")
//
//	{"mode": "sync", "placement": "HashName", "codec": "zstd", "worker_timeout": "1m"}
//
// Where the network is the bottleneck, Payload sends gradients in half or a quarter of the bytes; see [Payload] for what that
// costs in precision. Between processes of one machine it costs more time than it saves.
//
// Zero fields mean documented defaults; [Strategy.WithDefaults] shows them filled in. A field that does not exist, a
// value that does not exist and a combination that would be ignored are errors.
//
// Those who come from Fleet find its options here: sync_mode and a_sync are Mode, split_method is Placement, slice_var_up is
// NoSlice with the opposite meaning, min_block_size is MinBlockSize, and StrategyFactory.create_sync_strategy() is [Sync].
// Every process of a job must use the same strategy.
package strategy
