package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/observe"
)

// keeper decides what happens to a job as its roles end. It starts and stops no process: it receives events and returns
// orders.
type keeper struct {
	grace time.Duration
	whole bool // all workers of the job are among the roles
	alone bool // workers have no servers
	say   func(format string, args ...any)
	aside func(format string, args ...any) // for messages about the normal course

	roles    []role
	restarts restarts // those that are left
	attempt  int      // the current one, from 1
	attempts int      // the largest number of attempts
	began    time.Time
	short    int // attempts since the last that was as long as longLife
	wentBack int // the exit code of a role whose job goes back to its last checkpoint

	alive   map[role]bool // running, or paused before its restart
	lives   map[role]*lives
	paused  map[role]pausedRole
	now     func() time.Time
	early   []role // servers that ended with 0 while workers ran
	phase   phase
	code    int   // of fleetrun, so far
	culprit *exit // the first failure of the attempt, if there is one
	again   bool  // the roles are started again when all have ended
}

// restarts are the numbers of restarts that are left: of all roles together, or of one server or worker alone.
type restarts struct{ all, servers, workers int }

// alone is the number of restarts alone of a kind.
func (r *restarts) alone(of kind) *int {
	if of == server {
		return &r.servers
	}
	return &r.workers
}

// phase is the phase of a job.
type phase int

const (
	training  phase = iota // workers run
	finishing              // all workers here have ended well, servers have the grace period
	ending                 // all roles were asked to end
	pausing                // all roles have ended, and will be started again
)

// order is what to do with the running roles, and after how long to call expired.
type order struct {
	stop stop
	wait time.Duration // 0 leaves the timer as it is
	role role          // for startAgain and later
}

// pausedRole is how a role's process has ended, and when the next one is started.
type pausedRole struct {
	exit exit
	till time.Time
}

type stop int

const (
	carryOn stop = iota
	terminate
	kill
	start      // all roles, none of which is running
	startAgain // one role, while others run
	later      // call rested for one role, after wait
)

// patience is the time for which workers may run without servers before a message about it.
const patience = 3 * time.Second

// The pause before roles are started again: it doubles from attempt to attempt, and begins anew after a long one.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

func newKeeper(j *job, grace time.Duration, r restarts, say func(string, ...any)) *keeper {
	k := &keeper{grace: grace, whole: j.whole(), alone: j.collective() && j.count(server) == 0, say: say, aside: say,
		roles: j.here, now: time.Now, restarts: r, attempts: r.all + 1, wentBack: observe.WentBack}
	k.reset()
	return k
}

// reset prepares an attempt, in which all roles run.
func (k *keeper) reset() {
	k.attempt++
	k.began = k.now()
	k.phase, k.code, k.culprit, k.early, k.again = training, 0, nil, nil, false
	k.alive, k.lives, k.paused = map[role]bool{}, map[role]*lives{}, map[role]pausedRole{}
	for _, r := range k.roles {
		k.alive[r], k.lives[r] = true, &lives{began: k.now()}
	}
}

func (k *keeper) done() bool { return len(k.alive) == 0 && k.phase != pausing }

// exited handles the end of a role.
func (k *keeper) exited(e exit) order {
	delete(k.alive, e.role)
	switch {
	case k.phase == ending:
		return k.rest()
	case k.comesBack(e):
		return k.startAgain(e)
	case e.code != 0:
		return k.fail(e)
	}
	o := k.left(e.role)
	for _, r := range k.roles {
		if p, is := k.paused[r]; is && k.deserted(r.kind) { // since its pause began
			return k.fail(p.exit)
		}
	}
	return o
}

// left handles the normal end of a role.
func (k *keeper) left(r role) order {
	if r.kind == worker {
		return k.workerLeft()
	}
	return k.serverLeft(r)
}

// comesBack reports whether a role that has ended is started again alone: a server that continues where its journal
// ends, or a worker whose next life joins. A role that ends with wentBack sends the whole job back: a server has lost
// its weights, or the mode accepts no next life.
func (k *keeper) comesBack(e exit) bool {
	usage := e.code == exitUsage && !e.panicked
	return e.code != 0 && e.code != k.wentBack && !usage && !k.deserted(e.role.kind) &&
		*k.restarts.alone(e.role.kind) > 0
}

// deserted reports that a restarted role of a kind would find no other role: servers end well when no worker is left.
func (k *keeper) deserted(of kind) bool {
	if of == server {
		return k.phase == finishing && k.whole
	}
	return len(k.early) > 0
}

// startAgain orders the restart of a role, after a pause if its processes end soon, repeatedly.
func (k *keeper) startAgain(e exit) order {
	left := k.restarts.alone(e.role.kind)
	*left--
	k.alive[e.role] = true
	pause, when := k.lives[e.role].pause(k.now()), ""
	if pause > 0 {
		when = fmt.Sprintf(" in %v", pause)
	}
	k.say("%v failed: %s. It is started again alone%s, as %ss may be %d times more", e.role, e.how, when, e.role.kind,
		*left)
	if pause == 0 {
		return k.begin(e.role)
	}
	k.paused[e.role] = pausedRole{e, k.now().Add(pause)}
	return order{stop: later, role: e.role, wait: pause}
}

func (k *keeper) begin(r role) order {
	k.lives[r].began = k.now()
	return order{stop: startAgain, role: r}
}

// rested handles the end of a role's pause, unless the role has a new one.
func (k *keeper) rested(r role) order {
	if p, is := k.paused[r]; !is || k.now().Before(p.till) {
		return order{}
	}
	delete(k.paused, r)
	return k.begin(r)
}

// forget drops the roles that are paused, as the job ends.
func (k *keeper) forget() {
	for r := range k.paused {
		delete(k.alive, r)
	}
	clear(k.paused)
}

func (k *keeper) fail(e exit) order {
	k.forget()
	k.culprit, k.code = &e, e.code
	// an invalid command line would be invalid again
	k.again = k.restarts.all > 0 && (e.code != exitUsage || e.panicked)
	if len(k.alive) == 0 {
		k.say("%v failed: %s", e.role, e.how)
		return k.rest()
	}
	k.say("%v failed: %s. Ending the others: %s", e.role, e.how, k.names(""))
	return k.end()
}

// rest begins the pause before the next attempt, if there is one and all roles have ended.
func (k *keeper) rest() order {
	if !k.again || len(k.alive) > 0 {
		return order{}
	}
	k.phase = pausing
	k.restarts.all--
	if k.now().Sub(k.began) >= longLife {
		k.short = 0
	}
	pause := min(firstPause<<min(k.short, 10), longestPause)
	k.short++
	k.say("all roles are started again in %v, attempt %d of %d", pause, k.attempt+1, k.attempts)
	return order{wait: pause}
}

func (k *keeper) workerLeft() order {
	if k.names(worker) != "" {
		return order{}
	}
	k.phase = finishing
	if k.alone {
		k.aside("all workers exit.")
		return order{}
	}
	if !k.whole {
		k.say("all workers of this machine exit. Servers go on until the workers elsewhere have stopped.")
		return order{}
	}
	k.aside("all workers exit, going to finish parameter server.")
	return order{wait: max(k.grace, 1)}
}

func (k *keeper) serverLeft(r role) order {
	if k.phase == training && k.names(worker) != "" {
		k.early = append(k.early, r)
		return order{wait: patience}
	}
	return order{}
}

// signalled handles a signal that asks the job to end: at once, if it is not the first one.
func (k *keeper) signalled(s os.Signal) order {
	k.again = false
	k.forget()
	if k.phase == pausing {
		k.say("%v: the job is not started again", s)
		k.phase, k.code = ending, interrupted{s}.exitCode()
		return order{}
	}
	if k.phase == ending {
		k.say("%v: killing %s", s, k.names(""))
		return order{stop: kill}
	}
	k.code = interrupted{s}.exitCode()
	k.say("%v: ending %s. Once more kills them", s, k.names(""))
	return k.end()
}

// end asks all roles to end.
func (k *keeper) end() order {
	k.phase = ending
	return order{stop: terminate, wait: max(k.grace, 1)}
}

// expired handles the end of the last order's time.
func (k *keeper) expired() order {
	switch {
	case k.phase == pausing:
		k.reset()
		k.say("attempt %d of %d begins", k.attempt, k.attempts)
		return order{stop: start}
	case k.phase == ending:
		k.say("still running after %v: %s. Killing", k.grace, k.names(""))
		return order{stop: kill}
	case k.phase == finishing && k.whole:
		k.say("still running after %v: %s. Terminating. (Servers end by themselves when every worker has called "+
			"StopWorker.)", k.grace, k.names(""))
		return k.end()
	case k.phase == training:
		k.say("%s ended with exit code 0 while still running: %s", list(k.early), k.names(worker))
	}
	return order{}
}

// names lists the running roles of a kind, or of both.
func (k *keeper) names(of kind) string {
	var who []role
	for r := range k.alive {
		if of == "" || r.kind == of {
			who = append(who, r)
		}
	}
	slices.SortFunc(who, func(a, b role) int {
		if a.kind != b.kind {
			return strings.Compare(string(a.kind), string(b.kind))
		}
		return a.rank - b.rank
	})
	return list(who)
}

// list names a few roles, or counts many.
func list(who []role) string {
	const shown = 4
	var texts []string
	for _, r := range who[:min(len(who), shown)] {
		texts = append(texts, r.String())
	}
	if more := len(who) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
