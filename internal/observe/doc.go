// Package observe tells supervisors and people about this process: probes for a kubelet, the page of its counters, and
// the exit status by which it asks to be started again.
//
//	page, err := observe.Open("127.0.0.1:9100", token, log)
//	page.Show("server 0", func() observe.Role { … })
//
// A page has /metrics in Prometheus' text format, /status as one JSON document, and the profiles of the runtime below
// /debug/pprof. [Ask] reads the status of another process. A process listens once at an address and shows all of its
// roles there. The address of a page without a host is a loopback address.
//
// The ports answer GET and HEAD. Each connection has one request, of 8 KiB at most, and is closed after the answer. A
// caller has five seconds to send it. Beyond 64 connections the oldest is closed for a new one, so that silent callers
// do not block a probe. fasthttp's server in its place makes fleetrun 160 kB larger and saves five lines; net/http's
// makes every program 0.95 MB larger.
//
//	observer.go  what the environment asks for, of one role
//	log.go       JSON lines, if asked for, and warnings kept
//	roles.go     the roles of this process, and its addresses
//	probes.go    what probes are told
//	page.go      counters, status and profiles
//	text.go      counters as Prometheus reads them
//	status.go    the status of a process, and asking for it
//	warnings.go  lines of logs
//	serve.go     a port that answers GET
//	get.go       one request to such a port
//	restart.go   the exit status
package observe
