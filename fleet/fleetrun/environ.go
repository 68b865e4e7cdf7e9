package main

import (
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/ui"
	"github.com/gofleet/gofleet/rolemaker"
)

// variable is one entry of an environment.
type variable struct{ name, value string }

// environment tells a role who it is.
func (j *job) environment(r role) []variable {
	switch {
	case j.collective():
		return j.collectiveEnvironment(r)
	case r.kind == server:
		own := j.servers[r.rank]
		return append(j.common("PSERVER"),
			variable{progressVar, "plain"}, variable{"POD_IP", own.host}, variable{"PADDLE_PORT", own.port})
	}
	return append(append(j.common("TRAINER"), j.progress(r)...), variable{"PADDLE_TRAINER_ID", strconv.Itoa(r.rank)})
}

const progressVar, healthVar, metricsVar = "FLEET_PROGRESS", "FLEET_HEALTH", "FLEET_METRICS"

// metrics is where a role shows what it counts, by the environment of fleetrun: roles that share a machine take ports
// one after the other. What names no port each role refuses itself, and a port 0 is any for each.
func (j *job) metrics(env string, r role) []variable {
	host, port, err := net.SplitHostPort(env)
	n, wrong := strconv.Atoi(port)
	if err != nil || wrong != nil || n == 0 {
		return nil
	}
	return []variable{{metricsVar, net.JoinHostPort(host, strconv.Itoa(n+slices.Index(j.here, r)))}}
}

// metricsAt is where this machine sees that of a role, empty if it is not known.
func (j *job) metricsAt(env string, r role) string {
	at := j.metrics(env, r)
	if at == nil {
		return ""
	}
	return ui.Near(at[0].value)
}

// unprobed keeps roles that share a machine from answering probes at one address.
func (j *job) unprobed(env string, con *console) []variable {
	if env == "" || len(j.here) < 2 {
		return nil
	}
	con.warn("%s=%s is ignored: %d roles are started here, and an address is one's; start each by its own command",
		healthVar,
		env, len(j.here))
	return []variable{{healthVar, ""}}
}

// asked is how the user wants progress to be shown, by the environment of fleetrun; empty is as suits each worker, and
// live is that.
func asked(env string, con *console) string {
	switch env {
	case "plain", "off":
		return env
	case "", "live":
	default:
		con.warn("%s=%s is ignored: it can be live, plain or off", progressVar, env)
	}
	return ""
}

// progress tells a worker how to show its progress.
func (j *job) progress(r role) []variable {
	if j.shows != "" {
		return []variable{{progressVar, j.shows}}
	}
	if shown, _ := j.first(worker); !j.live || r != shown {
		return []variable{{progressVar, "plain"}}
	}
	vars := []variable{{progressVar, "live"}}
	if j.width > 0 {
		vars = append(vars, variable{"COLUMNS", strconv.Itoa(j.width)}) // the worker writes to a pipe and can't ask
	}
	return vars
}

// common is what roles of a kind share. Programs that look for gloo, which gofleet has no use for, find it switched off
// and its meeting point where gofleet's barriers meet: at server 0.
func (j *job) common(trainingRole string) []variable {
	return []variable{
		{"PADDLE_TRAINERS_NUM", strconv.Itoa(len(j.workers))},
		{"TRAINING_ROLE", trainingRole},
		{"PADDLE_PSERVERS_IP_PORT_LIST", join(j.servers)},
		{"PADDLE_TRAINER_ENDPOINTS", join(j.workers)},
		{"PADDLE_HETER_TRAINER_IP_PORT_LIST", ""},
		{"PADDLE_WITH_GLOO", withGloo(os.Getenv("PADDLE_WITH_GLOO"))},
		{"PADDLE_GLOO_RENDEZVOUS", "3"},
		{"PADDLE_GLOO_HTTP_ENDPOINT", j.servers[0].String()},
		{"PADDLE_GLOO_FS_PATH", j.scratch},
	}
}

func withGloo(inherited string) string {
	if inherited == "" {
		return "0"
	}
	return inherited
}

// inherit returns base ("NAME=value" each) with vars set and all else removed that says who a process is.
func inherit(base []string, vars []variable) []string {
	mine := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "PADDLE_TRAINERS" || rolemaker.Tells(name) ||
			slices.ContainsFunc(vars, func(v variable) bool { return v.name == name })
	}
	env := slices.DeleteFunc(slices.Clone(base), mine)
	for _, v := range vars {
		env = append(env, v.name+"="+v.value)
	}
	return env
}
