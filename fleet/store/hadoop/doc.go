// Package hadoop keeps files in HDFS, and in other file systems that Hadoop's shell can reach.
//
//	func main() {
//		if err := hadoop.Mount(hadoop.Options{}, "hdfs"); err != nil {
//			log.Fatal(err)
//		}
//		train.Main(…) // -checkpoint=hdfs://namenode:8020/user/me/job, or hdfs:///user/me/job
//	}
//
// The equivalent of Fleet's fs_name="afs://…" and fs_ugi="user,password" is Options{FSName: …, UGI: …}, mounted for
// "afs".
//
// Each request runs a command, "hadoop fs -stat …", with the client and configuration of this machine. Hadoop must be
// 2.7 or later, for the formats %F and %Y. A command starts a Java virtual machine, which takes about two seconds, and
// replacing a file takes about six; therefore claims are renewed only every 30 s. Errors are recognised by their text
// (of PathIOException and its subclasses in org.apache.hadoop.fs of Hadoop 3: "put: `x': No such file or directory",
// "File exists"; "Permission denied" of a name node), since the exit status is always 1. Temporary errors, such as a
// name node in safe mode or on standby, are retried; a request is tried three times.
//
// The shell can't replace a file atomically, and has no conditions. So a file is written as ".name.ID.new" and then
// renamed. An existing file is first moved to ".name.ID.was", which stands for the name until the new file is in place.
// A process that finds such a replacement stalled reverts it. Both temporary files are removed once the new file is in
// place; files left by a killed process are removed after an hour by a later Put in the directory. The version is the
// modification time and the size, which renaming must not change.
//
// The shell interprets * ? [ ] { } and \ in names as patterns, and : as part of a host: such names are refused. It
// reads every file from the beginning, so a file that is not read in order is first copied to this machine. An empty
// directory stays until it is removed.
package hadoop

// The files of this package, in reading order.
//
//	hadoop.go     the store, and its costs
//	command.go    one command, and its errors
//	names.go      a file, and the files beside it while it is replaced
//	read.go       describing and reading files
//	put.go        writing files
//	group_unix.go, group_other.go     processes that end together
