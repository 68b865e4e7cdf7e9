package main

import (
	"crypto/rand"
	"slices"
)

// ownToken is a secret for the roles of a job that stays on loopback and for which no other is set, so that
// other users of the machine can't take part. A job on several machines would need the same on all, which somebody has
// to give it.
func (j *job) ownToken(environ func(string) string) string {
	all := slices.Concat(j.servers, j.workers)
	if len(j.here) < len(all) || environ("FLEET_TOKEN") != "" || environ("FLEET_TLS_DIR") != "" ||
		slices.ContainsFunc(all, distant) {
		return ""
	}
	return rand.Text()
}

func distant(e endpoint) bool { return !loopback(e.host) }

// withToken gives a role the token. It is no argument, which everybody sees, and it is in no log.
func (j *job) withToken(env []string) []string {
	if j.token == "" {
		return env
	}
	return append(env, "FLEET_TOKEN="+j.token)
}
