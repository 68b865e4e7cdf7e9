package main

import (
	"crypto/rand"
	"slices"
)

// ownToken makes a secret for the roles of a job that runs on loopback alone and has no other, so that other users of
// the machine can't take part. A job on several machines needs the same secret on all of them, which the user has to
// set.
func (j *job) ownToken(environ func(string) string) string {
	all := slices.Concat(j.servers, j.workers)
	if len(j.here) < len(all) || environ("FLEET_TOKEN") != "" || environ("FLEET_TLS_DIR") != "" ||
		slices.ContainsFunc(all, distant) {
		return ""
	}
	return rand.Text()
}

func distant(e endpoint) bool { return !loopback(e.host) }

// withToken adds the token to a role's environment. It is not an argument, which every user could see, and it is in no
// log.
func (j *job) withToken(env []string) []string {
	if j.token == "" {
		return env
	}
	return append(env, "FLEET_TOKEN="+j.token)
}
