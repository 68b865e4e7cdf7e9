package main

import (
	"net"
	"strings"
	"testing"
)

func TestAmong(t *testing.T) {
	t.Parallel()
	plain := machine{hostname: "node-a", addresses: []string{"127.0.0.1", "10.0.0.1", "fe80::1"}}
	pod := machine{podIP: "10.0.0.1", hostname: "node-a", addresses: []string{"172.17.0.2"}}
	tests := []struct {
		name  string
		m     machine
		hosts string
		want  string // which of them are this machine
	}{
		{"by address", plain, "10.0.0.1 10.0.0.2", "10.0.0.1"},
		{"by address, written otherwise", plain, "fe80:0::1 ::ffff:10.0.0.1 10.0.0.2", "fe80:0::1 ::ffff:10.0.0.1"},
		{"by name", plain, "NODE-A node-b", "NODE-A"},
		{"loopback is here", plain, "127.0.0.1 localhost 10.0.0.2", "127.0.0.1 localhost"},
		{"elsewhere", plain, "10.0.0.2 node-b", ""},
		{"POD_IP decides", pod, "10.0.0.1 172.17.0.2 node-a 127.0.0.1", "10.0.0.1"},
		{"POD_IP may be a name", machine{podIP: "ps-0"}, "ps-0 ps-1", "ps-0"},
		{"POD_IP is not among them", pod, "172.17.0.2 10.0.0.2", ""},
		{"a list of loopback addresses", pod, "127.0.0.1 127.0.0.2", "127.0.0.1 127.0.0.2"},
		{"nameless", machine{}, "10.0.0.1", ""},
	}
	for _, tt := range tests {
		hosts := strings.Fields(tt.hosts)
		local := tt.m.among(hosts)
		var got []string
		for _, h := range hosts {
			if local(h) {
				got = append(got, h)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q are here, want %s", tt.name, got, tt.want)
		}
	}
}

func TestThisMachine(t *testing.T) {
	// Serial: it sets variables of the environment.
	t.Setenv("POD_IP", "")
	m := thisMachine()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Skip("no interfaces to look at:", err)
	}
	for _, a := range addresses {
		if ip := a.(*net.IPNet).IP.String(); !m.owns(ip) {
			t.Errorf("%s is not ours, says %s", ip, m.describe())
		}
	}
	t.Setenv("POD_IP", "10.1.1.1")
	if got := thisMachine().describe(); got != "POD_IP=10.1.1.1" {
		t.Errorf("described as %q", got)
	}
}
