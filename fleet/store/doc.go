// Package store names places for files that are not on a disk of this machine: checkpoints, saved models, deltas, data.
//
// A program mounts a store for the scheme of URLs, before it does anything else:
//
//	func main() {
//		if err := s3.Mount(s3.Options{}); err != nil { // package fleet/store/s3; by the variables AWS_…
//			log.Fatal(err)
//		}
//		train.Main(…)
//	}
//
// From then on s3://bucket/name is good wherever gofleet is given the name of a checkpoint, a model, a directory for
// deltas or a file of rows: Recovery.Dir, SavePersistables, SaveModel, Restore, nn.Load, nn.OpenScorer, package
// dataset, and the flags -checkpoint, -out and -load of package fleet/train. All processes of a job mount the same.
// Nothing is mounted by itself, so that a program links the stores that it names and no others. Journals stay on local
// disks.
//
// A store of one's own is a [Store] of five methods; package fleet/store/storetest examines it.
package store
