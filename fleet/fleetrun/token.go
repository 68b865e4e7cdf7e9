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

// withToken adds the tokens to a role's environment. They are no arguments, which every user could see, and are in no
// log.
func (j *job) withToken(env []string) []string {
	if j.token != "" {
		env = append(env, "FLEET_TOKEN="+j.token)
	}
	if j.uiToken != "" {
		env = append(env, uiTokenVar+"="+j.uiToken)
	}
	return env
}
