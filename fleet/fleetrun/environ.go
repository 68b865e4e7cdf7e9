package main

import (
	"cmp"
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

// environment is the part of a role's environment that gives it the role.
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

const (
	progressVar, healthVar = "FLEET_PROGRESS", "FLEET_HEALTH"
	metricsVar, logVar     = "FLEET_METRICS", "FLEET_LOG"
)

// metrics is the address of a role's metrics, from fleetrun's environment: roles on one machine get consecutive ports.
// A value without a port is passed on, and each role refuses it. Without a value, or with port 0, each role has a port
// that is free if there is a page, and else chooses.
func (j *job) metrics(env string, r role) []variable {
	host, port, err := net.SplitHostPort(env)
	n, wrong := strconv.Atoi(port)
	at := slices.Index(j.here, r)
	switch {
	case j.places != nil && (env == "" || err == nil && port == "0"):
		return []variable{{metricsVar, net.JoinHostPort(cmp.Or(host, localhost), j.places[at].port)}}
	case err != nil || wrong != nil || n == 0:
		return nil
	}
	return []variable{{metricsVar, net.JoinHostPort(host, strconv.Itoa(n+at))}}
}

// metricsAt is the address of a role's metrics for callers on this machine, "" if it is not known.
func (j *job) metricsAt(env string, r role) string {
	at := j.metrics(env, r)
	if at == nil {
		return ""
	}
	return ui.Near(at[0].value)
}

// unprobed removes the health address if several roles run on this machine, since only one could use it.
func (j *job) unprobed(env string, con *console) []variable {
	if env == "" || len(j.here) < 2 {
		return nil
	}
	con.warn("%s=%s is ignored: %d roles are started here, and an address is one's; start each by its own command",
		healthVar, env, len(j.here))
	return []variable{{healthVar, ""}}
}

// asked is the user's choice of progress lines, from fleetrun's environment; "" lets each worker have what suits it, as
// does live.
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

// progress is the environment of a worker for its progress lines.
func (j *job) progress(r role) []variable {
	if j.shows != "" {
		return []variable{{progressVar, j.shows}}
	}
	if shown, _ := j.first(worker); !j.live || r != shown {
		return []variable{{progressVar, "plain"}}
	}
	vars := []variable{{progressVar, "live"}}
	if j.width > 0 {
		vars = append(vars, variable{"COLUMNS", strconv.Itoa(j.width)}) // the worker has a pipe, and can't find out
	}
	return vars
}

// common is what roles of a kind share. For programs that look for gloo, which gofleet does not use, it is switched
// off, with server 0 as its address.
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

// inherit returns base ("NAME=value" each) with vars set, without other variables that give a process its role.
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
