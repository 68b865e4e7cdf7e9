// Fleetrun starts a parameter-server job, servers and workers, or a collective job, workers alone: each a process of
// the same program, each told by its environment who it is.
//
// Usage:
//
//	fleetrun --server_num=2 --worker_num=2 [flags] program [args]
//	fleetrun --nproc_per_node=2 [flags] program [args]
//	fleetrun doctor [--timeout 3s] [--checkpoint DIR] [--journal DIR] [--json] [flags] [program]
//	fleetrun certs [--days N] DIR HOST...
//	fleetrun new DIR --data=FILE --label=FIELD [--list=FIELD=SEPARATOR]...
//	fleetrun verify DIR...
//	fleetrun inspect [--json] DIR...
//	fleetrun pin|unpin DIR...
//	fleetrun compare [--by COLUMN] DIR...
//
// The program is a package of Go (./examples/wide_and_deep, or an import path), built once into a directory that goes
// away with the job, or an executable file, run as it is. What follows it is handed on untouched:
//
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/wide_and_deep -epochs=2
//
// Note that "go run" makes every failure exit code 1; a built fleetrun gives the code of the role that failed.
//
// # Flags
//
//	--server_num N        servers to start on this machine, on 127.0.0.1 and free ports
//	--worker_num N        workers to start on this machine
//	--servers LIST        the servers of the whole job, "ip:port,ip:port": rank is the place in the list
//	--workers LIST        its workers, "ip[:port],…"; without a port it is 6170 plus the rank
//	--nproc_per_node N    the workers of one machine. Where all run here it is another way to say --worker_num; with
//	                      --workers it is checked against what the list gives this machine
//	--max_restart N       when a role fails, start all roles again, at most N times (0)
//	--restart_servers N   when a server fails, start it again alone, at most N times (0)
//	--restart_workers N   when a worker fails, start it again alone, at most N times (0)
//	--log_dir DIR         where logs go (log)
//	-v                    show all flags, and what the first server and the first worker are told, when the job starts
//	--ui ADDRESS          show the job on a page there, with a token that is printed
//	--quiet               show the first worker's output and errors, and what has failed, and nothing else
//	--grace DURATION      how long roles may take to end when asked to, before they are killed (10s)
//	--ips LIST            the machines of a collective job, "ip,ip", each with --nproc_per_node workers
//	--gpus, --selected_gpus, --xpus, --npus, --devices LIST
//	                      accepted so that old command lines go on working: gofleet computes on CPUs. Where nothing else says
//	                      how many workers a collective job has, it has one for each device of the list
//	--run_mode MODE       ps or collective, which the other flags say too: an error if they say otherwise
//	--trainer_num N, --trainers LIST
//	                      newer names of --worker_num and --workers
//
// A count next to its list must agree with it. What other launchers have and gofleet has no use for (--master,
// --nnodes, --http_port, --heter_workers, --elastic_level, …) is refused, with the reason and what to type instead.
//
// # Without servers
//
// A command line that names workers, by --nproc_per_node, --ips, --workers or --worker_num, and no servers, starts a
// collective job: its workers add their gradients up among themselves. Each gets PADDLE_TRAINER_ENDPOINTS,
// PADDLE_TRAINERS_NUM, PADDLE_TRAINER_ID and PADDLE_CURRENT_ENDPOINT, which fleet.Init(nil) and rolemaker.Collective
// understand. On several machines the same command is typed on each:
//
//	fleetrun --ips=10.89.176.11,10.89.176.12 --nproc_per_node=2 ./train
//
// # What a role is told
//
// What follows is of jobs with servers.
// Every role gets TRAINING_ROLE (PSERVER or TRAINER), PADDLE_PSERVERS_IP_PORT_LIST, PADDLE_TRAINER_ENDPOINTS and
// PADDLE_TRAINERS_NUM; a server also POD_IP and PADDLE_PORT, a worker PADDLE_TRAINER_ID. The PADDLE_GLOO_ variables are
// set as older programs expect them; gofleet needs none of them, and PADDLE_WITH_GLOO is 0 unless it was set before.
// With -v the first server's and the first worker's environment are shown when the job starts. Everything else is
// inherited, FLEET_TOKEN and proxies included. Variables that would tell a role that it is somebody else are not.
//
// Where neither FLEET_TOKEN nor FLEET_TLS_DIR is set and all roles run here, on loopback, each job gets a FLEET_TOKEN
// of its own, which is shown nowhere: other users of the machine can't take part. A process that is started by hand, to
// join such a job, needs both to be given the same.
//
// FLEET_PROGRESS is "live" for the worker on a terminal and "plain" for everybody else: a program that reports progress
// draws a moving line for the one and writes lines for the other. Where it is plain or off already, all workers have it
// so. COLUMNS tells the one how wide the terminal is.
//
// Roles inherit GOMAXPROCS, the number of cores that each may use at a time:
//
//	GOMAXPROCS=1 fleetrun --server_num=2 --worker_num=2 ./examples/wide_and_deep
//
// # Logs
//
// Server N writes log/serverlog.N and worker N log/workerlog.N, replacing the last job's. The first worker of a
// machine is on the terminal too, its output on fleetrun's output and its errors on fleetrun's errors. What fleetrun
// has to say goes to its errors, so that output belongs to the worker. In a log, a line that moved on the terminal is
// written at most every ten seconds, and at its end.
//
// # How a job ends
//
// When every worker has exited with 0 the servers get the grace period to end by themselves, and are terminated after
// it; fleetrun exits with 0. A server that ends with 0 while workers run is no failure: that is what servers do after
// the last StopWorker. If workers still run three seconds later fleetrun says so.
//
// The first role that fails ends the job: the others are asked to end (SIGTERM), killed after the grace period, the
// last twenty lines of the failed role's log are shown, and its exit code is fleetrun's, or 128 and the number of the
// signal that killed it.
//
// With --max_restart=N it does not end there: when all have ended, all roles are started again, after a pause that
// doubles from a second to a minute, until the job ends well or has failed N+1 times. A program that saves checkpoints
// (strategy.Recovery; the examples' -checkpoint) goes on from the last one. A role that ends with 2, which is a command
// line that makes no sense, is not started again, but after a panic; nor is a job that a signal has ended. Logs go on
// after a line that says which attempt begins. On several machines give all the same --max_restart. Roles whose job has
// lost one elsewhere go back to the last checkpoint: programs of package fleet/train in their processes (-goback),
// while the machine that has lost its own types its command again; others fail with 75, and are started again.
//
// With --restart_servers=N a server that fails is started again alone and at once, up to N times in all: for programs
// whose servers keep a journal (strategy.Recovery; the examples' -journal), and go on where they were while the others
// wait. One that ends with 75 has lost its weights, and then --max_restart says what follows. One that fails again
// within a minute rests first, for a second, then for two, up to 30; behind a life of a minute it begins anew.
//
// With --restart_workers=N so is a worker: in modes async, half_async and geo the others train on meanwhile, and it
// goes on behind the samples that it had pushed. In modes sync and ssp the others go back to the last checkpoint with
// it, in their processes if they are of package fleet/train; without checkpoints its process ends with 75, and
// --max_restart says what follows. A worker that fails when servers have ended well has nobody to come back to.
//
// An interrupt (^C), SIGTERM or SIGHUP to fleetrun asks all roles to end, which may save a checkpoint before, as long
// as the grace period lasts; a second one kills them. The exit code is 130, 143 or 129. No process is left behind: each
// role leads a process group, and what is left of the group is killed when the role has ended. On Linux the roles also
// die with a fleetrun that was killed itself.
//
// # Several machines
//
// Name all roles in two lists and type the same command on every machine; each starts the roles whose address it has:
//
//	fleetrun --servers=10.89.176.11:36000,10.89.176.12:36000 --workers=10.89.176.11,10.89.176.12 ./train
//
// POD_IP says which address is this machine's where that isn't plain: host names, addresses behind NAT, containers.
// Lists of loopback addresses run all here, and setting POD_IP rehearses several machines on one:
//
//	POD_IP=127.0.0.1 fleetrun --servers=127.0.0.1:36000,127.0.0.2:36000 --workers=127.0.0.1,127.0.0.2 ./train &
//	POD_IP=127.0.0.2 fleetrun --servers=127.0.0.1:36000,127.0.0.2:36000 --workers=127.0.0.1,127.0.0.2 ./train
//
// Logs carry the rank in the whole job, so that machines may share a directory. A machine whose workers have ended lets
// its servers run until they end by themselves, since workers elsewhere may need them. A failure ends the roles of its
// own machine; the others notice by missing heartbeats. Between machines gofleet refuses plaintext unless it is asked
// for: set FLEET_TLS_DIR, FLEET_TOKEN or FLEET_INSECURE=1 on all of them.
//
// Kubernetes and Slurm start processes themselves and need no fleetrun: package rolemaker reads who a process is from
// what operators, mpirun and srun set.
//
// # When a job does not start
//
// Run doctor on each machine, with the environment that the role has there, or with the job's own command line:
//
//	fleetrun doctor
//	fleetrun doctor --servers=10.89.176.11:36000,10.89.176.12:36000 --workers=10.89.176.11,10.89.176.12 ./train
//	kubectl exec job-ps-0 -- fleetrun doctor --checkpoint=/data/checkpoints
//
// It says who the process would be and which variables say so (secrets masked; --json has those that were looked at in
// vain); where it would listen; which of the processes that it calls resolve, to what, and answer; the clock, versions,
// cores, memory and open files; who may talk to whom, and until when certificates are valid; whether the directories of
// --checkpoint and --journal, or of the program's flags -checkpoint, -journal, -out and -load, are there, with free
// space, the kind of file system and the time in which a file reaches the disk; and at the end what is missing, a line
// each with what to do. The exit code is 0 if nothing is: a peer that is not there yet is a note, since roles wait for
// each other. It never joins: a server is asked for a sign of life, which it refuses to callers without a hello, and
// notes nothing. A name or peer has --timeout (3s) to answer. With --json all this is one JSON object.
//
// # Certificates
//
// A cluster without an authority of its own gets one by a command, typed once, on any machine:
//
//	fleetrun certs tls 10.89.176.11 10.89.176.12
//
// writes ca.pem, cert.pem and key.pem into the directory tls, for the hosts named (names or IP addresses, as the lists
// of roles have them) and for loopback. Copy it to every machine and set FLEET_TLS_DIR there. Certificates are valid
// for a year, or --days; the authority's key is kept nowhere, so that for one more machine the command makes a new
// directory, which replaces all copies. Certificates that are there are never overwritten.
//
// # A program to begin from
//
//	fleetrun new late --data=flights.csv --label=late
//
// looks at rows from all over a file, CSV with the names of its fields or JSON lines, plain or gzip, and writes a
// training program into the directory late: main.go, with the fields as numbers and categories, a small net and its
// loss, a test, and a README. Times become their parts, such as the hour and the weekday, and the README says how to
// test on the latest rows. Fields of several values, arrays of JSON or texts such as rock|pop, are lists of ids whose
// rows are pooled: what parts a text is guessed from most texts of the field, unless --list='tags=|' says it, or that
// there is one value, --list='title='. It says which fields it leaves out, and why. What is there already stays.
//
// # Checkpoints and models
//
//	fleetrun verify checkpoints
//
// reads every byte of a checkpoint, of a saved model, or of all that lie in a directory, as Strategy.Recovery keeps
// them, and says of each file whether it is whole. It exits with 0 if all are, and with 1 if something is damaged or
// there is nothing whole. A checkpoint without a manifest.json was never finished, or is being written: the one before
// it counts, and that is no damage.
//
//	fleetrun inspect checkpoints/ckpt-000012
//
// says what is in it: when it was saved, the update, the program's progress (epochs count from 1), each param with its
// shape, rows and bytes, and the files; of a model also what it is fed, what it computes, and the format of the rows
// that it can be given. With --json it is one JSON array with an object for each directory, for programs, as files have
// it: epochs count from 0.
//
//	fleetrun pin checkpoints/ckpt-000012
//
// keeps a checkpoint that the job would remove when newer ones are whole; unpin lets it go.
//
// # Jobs side by side
//
//	fleetrun compare output/*
//
// shows what jobs of package fleet/train have left there (-out), a line each: the best of each metric and its epoch,
// the rate of all workers, the time in which they trained, and the flags in which they differ. The best is first, by
// the test loss or the column of history.csv that --by names. What is no job's directory is named behind.
package main

// The files of this package, in reading order.
//
// What is asked:
//
//	main.go        the command
//	flags.go       each flag
//	plan.go        what flags mean together: the roles of the job
//	collective.go  jobs without servers
//	endpoint.go    addresses in lists
//	ports.go       free ones
//	machine.go     which of the lists are this machine's
//	environ.go     what each role is told
//	token.go       a secret that they share
//	banner.go      the job, shown before it starts
//	certs.go       certificates, which need no job
//	begin.go       a program for a file of rows
//	doctor.go      what a role finds here, and lacks
//	findings.go    what is shown of that
//	whoami.go      who it is
//	pod.go         names, in a pod of Kubernetes
//	peers.go       whom it calls
//	machinery.go, system_unix.go, system_other.go  clock, versions, limits
//	security.go    who may talk to whom
//	folders.go     where it writes
//	filesystem.go, filesystem_linux.go, filesystem_other.go  who sees that
//	verify.go      whether files are whole
//	inspect.go     what is in them
//	signature.go   what a model is fed
//	compare.go     jobs side by side
//	pin.go         which of them stay
//
// A job that runs:
//
//	program.go  the executable, built or found
//	crew.go     its processes
//	scratch.go, scratch_unix.go, scratch_other.go  a directory for as long as it runs
//	keeper.go   what becomes of it as they end
//	lives.go    how long one rests that ends soon, over and over
//	process.go  one of them
//	group_unix.go, group_linux.go, group_other.go, group_windows.go  with all that it has started
//	signals.go  ^C and its kin
//
// What it says:
//
//	ui.go        a page that shows it, and what roles say for that
//	uilogs.go    the warnings in their logs
//	pipe.go      a stream of a role
//	logs.go      files, and the terminal beside them
//	plainlog.go  a line that moves, for a file
//	console.go   who may write to the terminal
