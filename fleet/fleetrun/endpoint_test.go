package main

import (
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	t.Parallel()
	ports := func(rank int) int { return 6170 + rank }
	tests := []struct{ list, want string }{
		{"", ""},
		{"10.0.0.1:36000,10.0.0.2:36000", "10.0.0.1:36000,10.0.0.2:36000"},
		{"10.0.0.1, 10.0.0.2:7000 ,10.0.0.3", "10.0.0.1:6170,10.0.0.2:7000,10.0.0.3:6172"},
		{"ps-0.job:36000,localhost", "ps-0.job:36000,localhost:6171"},
		{"[::1]:36000,::1,[fe80::2]", "[::1]:36000,[::1]:6171,[fe80::2]:6172"},
	}
	for _, tt := range tests {
		got, err := parseList("workers", tt.list, ports)
		if err != nil || join(got) != tt.want {
			t.Errorf("parseList(%s) = %s, %v, want %s", tt.list, join(got), err, tt.want)
		}
	}
}

func TestParseListErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ list, want string }{
		{"10.0.0.1", `--servers=10.0.0.1, entry 0 ("10.0.0.1"): it needs a port`},
		{"::1", "it needs a port"},
		{"10.0.0.1:1,,10.0.0.2:2", `entry 1 (""): missing host`},
		{"10.0.0.1:1,", "missing host"},
		{":36000", "missing host"},
		{"10.0.0.1:0", `a port is a number from 1 to 65535, not "0"`},
		{"10.0.0.1:65536", "a port is a number"},
		{"10.0.0.1:http", "a port is a number"},
		{"10.0.0.1:", "a port is a number"},
		{"http://10.0.0.1:80", "expected ip:port"},
		{"[::1:80", "expected ip:port"},
		{"10.0.0.1:1;10.0.0.2:2", "expected ip:port"},
		{"0.0.0.0:36000", "no machine can call that address"},
		{"[::]:36000", "no machine can call that address"},
		{"a b:36000", "expected ip:port"},
	}
	for _, tt := range tests {
		got, err := parseList("servers", tt.list, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("parseList(%s) = %s, %v, want %q", tt.list, join(got), err, tt.want)
		}
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"localhost": true, "10.0.0.1": false, "example.org": false, "": false} {
		if got := loopback(host); got != want {
			t.Errorf("loopback(%q) = %v", host, got)
		}
	}
}
