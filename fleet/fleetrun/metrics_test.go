package main

import "testing"

// TestRolesShowMetricsApart: roles of one machine take ports one after the other; what is no port is left as it is. Where there
// is a page each has one.
func TestRolesShowMetricsApart(t *testing.T) {
	t.Parallel()
	j := &job{here: []role{{server, 0}, {server, 1}, {worker, 0}}}
	on := &job{here: j.here, places: []endpoint{{localhost, "1"}, {localhost, "2"}, {localhost, "3"}}}
	for env, want := range map[string][2]string{":9100": {":9102", ":9102"}, "0.0.0.0:9100": {"0.0.0.0:9102", "0.0.0.0:9102"},
		"[::1]:9100": {"[::1]:9102", "[::1]:9102"}, ":0": {"", "127.0.0.1:3"}, "0.0.0.0:0": {"", "0.0.0.0:3"}, "": {"", "127.0.0.1:3"}, "9100": {"", ""}} {
		for i, j := range []*job{j, on} {
			got := ""
			if is := j.metrics(env, role{worker, 0}); len(is) == 1 && is[0].name == metricsVar {
				got = is[0].value
			}
			if got != want[i] {
				t.Errorf("FLEET_METRICS=%s, page %t, has worker 0 use %q, want %q", env, i == 1, got, want[i])
			}
		}
	}
}
