package server

import "testing"

// TestServersOnAHost: servers at one host share the memory of its control group, and no others do.
func TestServersOnAHost(t *testing.T) {
	t.Parallel()
	c := Config{Endpoints: []string{"10.0.0.1:1", "10.0.0.1:2", "[::1]:1", "10.0.0.11:1", "unix:/run/a", "unix:/run/b"}}
	for i, want := range []int64{2, 2, 1, 1, 2, 2} {
		if c.Index = i; c.onHost() != want {
			t.Errorf("with %s are %d servers, want %d", c.Endpoints[i], c.onHost(), want)
		}
	}
}
