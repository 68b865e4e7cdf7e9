package main

import "testing"

// TestRolesShowMetricsApart: roles of one machine take ports one after the other; what is no port is left as it is.
func TestRolesShowMetricsApart(t *testing.T) {
	t.Parallel()
	j := &job{here: []role{{server, 0}, {server, 1}, {worker, 0}}}
	for env, want := range map[string]string{":9100": ":9102", "0.0.0.0:9100": "0.0.0.0:9102", "[::1]:9100": "[::1]:9102", ":0": "", "": "", "9100": ""} {
		got := ""
		if is := j.metrics(env, role{worker, 0}); len(is) == 1 && is[0].name == metricsVar {
			got = is[0].value
		}
		if got != want {
			t.Errorf("FLEET_METRICS=%s has worker 0 use %q, want %q", env, got, want)
		}
	}
}
