package main

import (
	"context"
	"os"
	"strings"
)

// headless is the remedy for a pod's name that does not resolve.
const headless = "a headless service with publishNotReadyAddresses: true announces it from its pod's start, where it " +
	"selects the pod and is the pod's subdomain, or its StatefulSet's serviceName"

// inPod reports whether this process is in a pod of Kubernetes.
func inPod() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }

// readPod reports the domains in which a pod looks for short names, and what the name resolves to by which others call
// a role here. Whether that is this pod shows when the role listens there.
func (d *doctor) readPod(ctx context.Context) {
	if !inPod() {
		return
	}
	d.section("pod")
	conf, _ := os.ReadFile("/etc/resolv.conf") // without it no name resolves, which is reported for each
	d.say("search domains", "%s", searched(string(conf)))
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	own, _ := d.endpoints()
	for _, o := range own {
		found, err := resolve(ctx, o.endpoint)
		if err != nil {
			found = "does not resolve"
			d.lacks("%s, %s: its own name does not resolve (%v): %s", o.name, o.endpoint, err, headless)
		}
		d.say("own name", "%s %s", o.endpoint, strings.TrimSuffix(found, "; "))
	}
}

// searched are the domains in which a resolver looks for short names.
func searched(conf string) string {
	for line := range strings.Lines(conf) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "search" {
			return strings.Join(words[1:], " ")
		}
	}
	return "none"
}
