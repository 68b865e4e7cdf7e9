// Fleetrun starts a parameter-server job (servers and workers) or a collective job (workers only). Each role is a
// process of the same program and gets its role from environment variables.
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
//	fleetrun watch [--ui ADDRESS] HOST:PORT...
//	fleetrun chaos [--runs N] [--metric COLUMN] [--within X] [--seed N] -- [flags] program [args]
//
// The program is a Go package (./examples/wide_and_deep, or an import path), which is built once into a temporary
// directory, as go run builds it, without symbols for debuggers; or an executable file. Arguments after it are
// passed on unchanged:
//
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/wide_and_deep -epochs=2
//
// Note that "go run" turns every failure into exit code 1; a built fleetrun exits with the code of the failed role.
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
//	--log_dir DIR         where logs go (log); each fleetrun that runs has its own
//	-v                    show all flags, and the environment of the first server and the first worker, when the job starts
//	--ui ADDRESS          show the job on a page there, with a token that is printed
//	--quiet               show only the first worker's output and errors, and failures
//	--grace DURATION      how long roles may take to end when asked to, before they are killed (10s)
//	--ips LIST            the machines of a collective job, "ip,ip", each with --nproc_per_node workers
//	--gpus, --selected_gpus, --xpus, --npus, --devices LIST
//	                      accepted so that old command lines go on working: gofleet computes on CPUs. Where nothing else says
//	                      how many workers a collective job has, it has one for each device of the list
//	--run_mode MODE       ps or collective, which the other flags say too: an error if they say otherwise
//	--trainer_num N, --trainers LIST
//	                      newer names of --worker_num and --workers
//
// A count must agree with its list, if both are given. Flags of other launchers that gofleet has no use for (--master,
// --nnodes, --http_port, --heter_workers, --elastic_level, …) are refused, with the reason and a replacement.
//
// # Without servers
//
// A command line that names workers, by --nproc_per_node, --ips, --workers or --worker_num, and no servers, starts a
// collective job, whose workers sum gradients among themselves. Each gets PADDLE_TRAINER_ENDPOINTS,
// PADDLE_TRAINERS_NUM, PADDLE_TRAINER_ID and PADDLE_CURRENT_ENDPOINT, which fleet.Init(nil) and rolemaker.Collective
// read. On several machines, run the same command on each:
//
//	fleetrun --ips=10.89.176.11,10.89.176.12 --nproc_per_node=2 ./train
//
// # The environment of a role
//
// This section is about jobs with servers. Every role gets TRAINING_ROLE (PSERVER or TRAINER),
// PADDLE_PSERVERS_IP_PORT_LIST, PADDLE_TRAINER_ENDPOINTS and PADDLE_TRAINERS_NUM; a server also POD_IP and PADDLE_PORT,
// a worker PADDLE_TRAINER_ID. The PADDLE_GLOO_ variables are set for older programs; gofleet does not use them, and
// PADDLE_WITH_GLOO is 0 unless it was set before. -v shows the environment of the first server and the first worker
// when the job starts. All other variables are inherited, including FLEET_TOKEN and proxies, except those that would
// give a process another role.
//
// If neither FLEET_TOKEN nor FLEET_TLS_DIR is set and all roles run on this machine, on loopback, each job gets a
// secret FLEET_TOKEN of its own, so that other users of the machine can't join. To start a process of such a job by
// hand, set the same FLEET_TOKEN for fleetrun and for the process.
//
// FLEET_PROGRESS is "live" for the worker on the terminal, whose progress is a line updated in place, and "plain" for
// the others, which write lines. If it is already set to plain or off, all workers get that value. COLUMNS is the width
// of the terminal.
//
// Roles inherit GOMAXPROCS, the number of cores that each may use at a time:
//
//	GOMAXPROCS=1 fleetrun --server_num=2 --worker_num=2 ./examples/wide_and_deep
//
// # Logs
//
// Server N writes log/serverlog.N and worker N log/workerlog.N, replacing those of the previous job. The output and
// errors of the first worker of a machine also go to fleetrun's stdout and stderr. Fleetrun's own messages go to
// stderr, so that stdout belongs to the worker. A line that is updated in place on the terminal is written to a log at
// most every ten seconds, and at its end.
//
// # How a job ends
//
// When every worker has exited with 0, servers have the grace period to end, and are terminated after it; fleetrun
// exits with 0. A server that ends with 0 while workers run has not failed: servers do that after the last StopWorker.
// If workers still run three seconds later, fleetrun says so.
//
// The first role that fails ends the job: the others are asked to end (SIGTERM), killed after the grace period, the
// last twenty lines of the failed role's log are shown, and its exit code is fleetrun's, or 128 and the number of the
// signal that killed it.
//
// With --max_restart=N, fleetrun then starts all roles again, after a pause that doubles from a second to a minute,
// until the job succeeds or has failed N+1 times; behind a long attempt the pause is a second again. A program that
// saves checkpoints (strategy.Recovery; the examples' -checkpoint) resumes from the last one. A role that exits
// with 2, which means a wrong command line, is not started again, except after a panic; nor is a job that was ended
// by a signal. Logs are continued, with a line at the start of each attempt. On several machines use the same
// --max_restart. If a role dies on another machine, the roles of this one go back to the last checkpoint: programs
// of package fleet/train within their processes (-goback); others fail with 75 and are started again. The machine
// that lost the role must run its command again.
//
// With --restart_servers=N, a server that fails is restarted alone and at once, up to N times in all. Use it for
// programs whose servers keep a journal (strategy.Recovery; the examples' -journal) and continue where they were while
// the other roles wait. A server that exits with 75 has lost its weights, and --max_restart applies. A server that
// fails again within a minute is restarted after a pause of 1 s, then 2 s, up to 30 s; after a minute without failure
// the pauses start over.
//
// With --restart_workers=N, the same applies to workers. In modes async, half_async and geo the other workers train on
// meanwhile, and the restarted worker continues after the samples that it had pushed. In modes sync and ssp all workers
// go back to the last checkpoint, within their processes if they use package fleet/train; without checkpoints the
// restarted process exits with 75, and --max_restart applies. A worker that fails after the servers have finished is
// not restarted.
//
// An interrupt (^C), SIGTERM or SIGHUP to fleetrun asks all roles to end; they may save a checkpoint within the grace
// period. A second signal kills them. The exit code is 130, 143 or 129. No process is left behind: each role leads a
// process group, whose remaining processes are killed when the role has ended. On Linux roles also die if fleetrun
// itself is killed.
//
// # Several machines
//
// Name all roles in two lists and run the same command on every machine; each starts the roles with its own addresses:
//
//	fleetrun --servers=10.89.176.11:36000,10.89.176.12:36000 --workers=10.89.176.11,10.89.176.12 ./train
//
// Set POD_IP to this machine's address in the lists if it can't be detected, because of host names, NAT or containers.
// Roles at loopback addresses all run on this machine; set POD_IP to simulate several machines on one:
//
//	POD_IP=127.0.0.1 fleetrun --servers=127.0.0.1:36000,127.0.0.2:36000 --workers=127.0.0.1,127.0.0.2 ./train &
//	POD_IP=127.0.0.2 fleetrun --servers=127.0.0.1:36000,127.0.0.2:36000 --workers=127.0.0.1,127.0.0.2 ./train
//
// Log names have the rank in the whole job, so that machines may share a directory. When its workers have ended, a
// machine lets its servers run until they end, since workers elsewhere may need them. A failure ends the roles of its
// own machine; the others notice by missing heartbeats. Between machines gofleet refuses plaintext unless it is asked
// for: set FLEET_TLS_DIR, FLEET_TOKEN or FLEET_INSECURE=1 on all of them.
//
// Kubernetes and Slurm start processes themselves and need no fleetrun: package rolemaker reads the role of a process
// from the variables that operators, mpirun and srun set.
//
// # When a job does not start
//
// Run doctor on each machine, with the environment that the role has there, or with the job's own command line:
//
//	fleetrun doctor
//	fleetrun doctor --servers=10.89.176.11:36000,10.89.176.12:36000 --workers=10.89.176.11,10.89.176.12 ./train
//	kubectl exec job-ps-0 -- fleetrun doctor --checkpoint=/data/checkpoints
//
// It reports the role that the process would have and the variables that say so (secrets masked; --json also lists the
// variables that were not set); where it would listen; which peers resolve, to which addresses, and answer; the clock,
// versions, cores, memory and open files; security settings and the expiry of certificates; and whether the directories
// of --checkpoint and --journal, or of the program's flags -checkpoint, -journal, -out and -load, exist, with free
// space, the kind of file system and the time to write a file to disk. At the end it lists each problem with a remedy.
// The exit code is 0 if there is none; a peer that is not running yet is only a note, since roles wait for each other.
// doctor never joins the job: it sends servers a heartbeat without having joined, which they refuse and ignore. A name
// or peer has --timeout (3s) to answer. --json prints the report as one JSON object.
//
// # Certificates
//
// A cluster without its own certificate authority gets one with a command that you run once, on any machine:
//
//	fleetrun certs tls 10.89.176.11 10.89.176.12
//
// writes ca.pem, cert.pem and key.pem into the directory tls, for the hosts named (names or IP addresses, as the lists
// of roles have them) and for loopback. Copy it to every machine and set FLEET_TLS_DIR there. Certificates are valid
// for a year, or --days. The authority's key is not kept, so to add a machine make a new directory with the command,
// and replace all copies. Existing certificates are never overwritten.
//
// # A new program
//
//	fleetrun new late --data=flights.csv --label=late
//
// samples rows from a file, CSV with a header or JSON lines, plain or gzip, and writes a training program into the
// directory late: main.go, with the fields as numbers and categories, a small network and its loss, a test, and a
// README. Times are split into parts, such as the hour and the weekday, and the README says how to test on the latest
// rows. Up to eight pairs of fields that predict the label together better than each does alone are crossed. Fields
// with several values, JSON arrays or texts such as rock|pop, become lists of ids whose rows are pooled. The separator
// is guessed from most texts of the field, unless --list='tags=|' gives it; --list='title=' means that the field has
// one value. The command says which fields it leaves out, and why, and builds the program, or says why it can't.
// Training ends with the model's result beside a constant's and a linear model's of the same fields. Existing files are
// not overwritten.
//
// # Checkpoints and models
//
//	fleetrun verify checkpoints
//
// reads every byte of a checkpoint, of a saved model, or of all checkpoints in a directory of Strategy.Recovery, and
// says for each file whether it is intact. It exits with 0 if all are, and with 1 if something is damaged or nothing is
// complete. A checkpoint without a manifest.json was never finished, or is being written; it is ignored and does not
// count as damage.
//
//	fleetrun inspect checkpoints/ckpt-000012
//
// shows the contents of a checkpoint or model: when it was saved, the number of updates, the program's progress (epochs
// count from 1), each param with its shape, rows and bytes, and the files; for a model also its inputs, outputs and row
// format. --json prints a JSON array with an object for each directory, with the values as stored: epochs count from 0.
//
//	fleetrun pin checkpoints/ckpt-000012
//
// keeps a checkpoint that the job would remove once newer ones are complete; unpin reverses that.
//
// # Comparing jobs
//
//	fleetrun compare output/*
//
// compares jobs of package fleet/train by their output directories (-out), with a line for each: the best value of each
// metric and its epoch, the rate of all workers, the training time, and the flags that differ. The best job is first,
// by the test loss or the column of history.csv named by --by. Directories without a job are listed at the end.
//
// # Watching a job
//
//	fleetrun --ui=:8900 --server_num=2 --worker_num=2 ./train
//	fleetrun watch wd-ps:9100 wd-worker:9100
//
// show a job on a page while it runs. With --ui each role has a FLEET_METRICS, on a free port of loopback unless the
// environment has one, and the page's token, FLEET_UI_TOKEN. watch shows the processes that have FLEET_METRICS at the
// addresses named, however they were started, a program alone too; a name stands for all its addresses.
//
// # Killing roles of your job
//
//	fleetrun chaos --runs=10 --metric="test auc" -- --server_num=2 --worker_num=2 ./train -epochs=4
//
// plays a job of package fleet/train once undisturbed, and then while up to three of its roles are killed, or asked to
// end, at random moments that --seed determines, and are started again. A run fails if its job does, or if the last
// value of the metric is further than --within from the undisturbed job's. It needs Linux.
package main

// The files of this package, in reading order.
//
// The command line, and commands without a job:
//
//	main.go        the command
//	flags.go       each flag
//	plan.go        the roles of the job, from all flags together
//	collective.go  jobs without servers
//	endpoint.go    addresses in lists
//	ports.go       free ports
//	machine.go     which addresses of a list are this machine's
//	environ.go     the environment of each role
//	token.go       a secret that the roles share
//	banner.go      the job, printed before it starts
//	certs.go       certificates
//	begin.go       a program for a file of rows
//	doctor.go      what a role finds on this machine, and lacks
//	findings.go    its report
//	whoami.go      the role of a process
//	pod.go         names, in a pod of Kubernetes
//	peers.go       addresses that it calls
//	machinery.go, system_unix.go, system_other.go  clock, versions, limits
//	security.go    tokens and certificates
//	folders.go     directories that it writes
//	filesystem.go, filesystem_linux.go, filesystem_other.go  whether they are shared
//	verify.go      whether checkpoints and models are intact
//	inspect.go     their contents
//	signature.go   inputs and outputs of a model
//	compare.go     jobs side by side
//	watch.go       a job that others have started, on a page
//	chaos.go       a job whose roles are killed at random
//	pin.go         checkpoints that stay
//
// A running job:
//
//	program.go  the executable, built or found
//	crew.go     its processes
//	scratch.go, scratch_unix.go, scratch_other.go  a directory for as long as it runs
//	keeper.go   decisions as processes end
//	lives.go    pauses of a role that ends soon, repeatedly
//	process.go  one process
//	group_unix.go, group_linux.go, group_other.go, group_windows.go  with all processes that it has started
//	signals.go  ^C and other signals
//
// Its output:
//
//	ui.go        the page of --ui, with the roles' status
//	uilogs.go    the warnings in their logs
//	pipe.go      one stream of a role
//	logs.go      log files, and the terminal
//	plainlog.go  a line that is updated in place, for a file
//	console.go   writing to the terminal
