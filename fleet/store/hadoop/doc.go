// Package hadoop keeps files where Hadoop's file system shell reaches: HDFS, and what else it has schemes for.
//
//	func main() {
//		if err := hadoop.Mount(hadoop.Options{}, "hdfs"); err != nil {
//			log.Fatal(err)
//		}
//		train.Main(…) // -checkpoint=hdfs://namenode:8020/user/me/job, or hdfs:///user/me/job
//	}
//
// What Fleet's fs_name="afs://…" and fs_ugi="user,password" say is Options{FSName: …, UGI: …}, mounted for "afs".
//
// Each request is a command, "hadoop fs -stat …", of the client and the configuration that this machine has; Hadoop 2.7
// is the oldest, since names and times are asked for by the formats %F and %Y. A command costs the start of a Java
// machine, about two seconds, and a file in the place of another takes six: claims beat every 30 s here. What a command
// says is known by its words (PathIOException and what extends it in org.apache.hadoop.fs of Hadoop 3: "put: `x': No
// such file or directory", "File exists"; "Permission denied" of a name node), since the status is 1 for all of them.
// What may pass, such as a name node in safe mode or on standby, is tried three times.
//
// The shell can't replace a file in one step, and has no conditions. So a file is written beside its name, as
// ".name.ID.new", and is renamed; one that it replaces is moved away to ".name.ID.was" first, and stands for the
// name as long as there is none. Who finds such a replacement standing still takes it back. Both are removed when the
// file is there; what a process that was killed has left goes with a later one in the directory, an hour old. The
// version is the time of change and the size, and it must not change when a file is renamed.
//
// The shell takes * ? [ ] { } and \ in names for patterns, and : for a host's: such names are refused. It reads every
// file from its beginning: what is not read in order is copied to this machine first. An empty directory stays until it
// is removed.
package hadoop

// The files of this package, in reading order.
//
//	hadoop.go     the store, and its costs
//	command.go    one command, and what it says
//	names.go      a file, and what lies beside it while it is replaced
//	read.go       files that are looked at and read
//	put.go        files that are written
//	group_unix.go, group_other.go     processes that end together
