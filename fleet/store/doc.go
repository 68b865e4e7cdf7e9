// Package store keeps checkpoints, saved models, deltas and data in storage that is not a disk of this machine, such as
// S3 or HDFS.
//
// A program mounts a store for a URL scheme before it does anything else:
//
//	func main() {
//		if err := s3.Mount(s3.Options{}); err != nil { // package fleet/store/s3; by the variables AWS_…
//			log.Fatal(err)
//		}
//		train.Main(…)
//	}
//
// From then on s3://bucket/name is accepted wherever gofleet takes the name of a checkpoint, a model, a directory for
// deltas or a file of rows: Recovery.Dir, SavePersistables, SaveModel, Restore, serve.Load, serve.OpenScorer, package
// dataset, and the flags -checkpoint, -out and -load of package fleet/train. All processes of a job must mount the same
// stores. Nothing is mounted automatically, so a program links only the stores that it uses. Journals stay on local
// disks.
//
// Your own [Store] needs five methods; test it with package fleet/store/storetest.
package store
