// Package exposition serves the counters of a process: /metrics in Prometheus' text format, and the profiles of the
// runtime below /debug/pprof for callers on the same machine.
//
//	page, err := exposition.Open("127.0.0.1:9100", log)
//	page.Show("server 0", func() []exposition.Set { … })
//
// A process listens once at an address and shows all of its roles there. An address without a host is a loopback
// address.
package exposition
