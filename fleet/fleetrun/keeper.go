package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/status"
)

// keeper decides what becomes of a job as its roles end. It starts and stops nothing: events go in, orders come out.
type keeper struct {
	grace time.Duration
	whole bool // all workers of the job are among the roles
	alone bool // workers have no servers
	say   func(format string, args ...any)
	aside func(format string, args ...any) // what goes as it should

	roles    []role
	restarts restarts // that are left
	attempt  int      // that runs, from 1
	attempts int      // that there may be
	wentBack int      // the exit code of a role whose job goes back to its last checkpoint

	alive   map[role]bool // or will be, behind a pause of its own
	lives   map[role]*lives
	paused  map[role]pausedRole
	now     func() time.Time
	early   []role // servers that ended with 0 while workers ran
	phase   phase
	code    int   // of fleetrun, so far
	culprit *exit // the first failure of the attempt, if any
	again   bool  // the roles are started again when all have ended
}

// restarts are how often roles may be started again: all of them together, or one server or worker alone.
type restarts struct{ all, servers, workers int }

// alone is how often one of a kind may be.
func (r *restarts) alone(of kind) *int {
	if of == server {
		return &r.servers
	}
	return &r.workers
}

// phase is how far a job is.
type phase int

const (
	training  phase = iota // workers run
	finishing              // all workers here have ended well, servers may take the grace period
	ending                 // everybody was asked to end
	pausing                // everybody has ended, and will be started again
)

// order is what to do with the roles that are alive, and in how long to call expired.
type order struct {
	stop stop
	wait time.Duration // 0 leaves the timer as it is
	role role          // of startAgain and later
}

// pausedRole is how a role's process has ended, and when the next is started.
type pausedRole struct {
	exit exit
	till time.Time
}

type stop int

const (
	carryOn stop = iota
	terminate
	kill
	start      // all roles, none of which is alive
	startAgain // one role, beside the others
	later      // call rested of one role, behind the wait
)

// patience is how long servers may be gone before workers without servers are worth a word.
const patience = 3 * time.Second

// The pause before roles are started again: it doubles from attempt to attempt.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

func newKeeper(j *job, grace time.Duration, r restarts, say func(string, ...any)) *keeper {
	k := &keeper{grace: grace, whole: j.whole(), alone: j.collective() && j.count(server) == 0, say: say, aside: say,
		roles: j.here, now: time.Now,
		restarts: r, attempts: r.all + 1, wentBack: status.WentBack}
	k.reset()
	return k
}

// reset makes ready for an attempt, in which all roles are alive.
func (k *keeper) reset() {
	k.attempt++
	k.phase, k.code, k.culprit, k.early, k.again = training, 0, nil, nil, false
	k.alive, k.lives, k.paused = map[role]bool{}, map[role]*lives{}, map[role]pausedRole{}
	for _, r := range k.roles {
		k.alive[r], k.lives[r] = true, &lives{began: k.now()}
	}
}

func (k *keeper) done() bool { return len(k.alive) == 0 && k.phase != pausing }

// exited takes note that a role has ended.
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
		if p, is := k.paused[r]; is && k.deserted(r.kind) { // meanwhile
			return k.fail(p.exit)
		}
	}
	return o
}

// left takes note that a role has ended well.
func (k *keeper) left(r role) order {
	if r.kind == worker {
		return k.workerLeft()
	}
	return k.serverLeft(r)
}

// comesBack says whether a role that has ended is started again alone: a server that goes on where its journal ends, or
// a worker whose next life joins. One that ends with wentBack sends the whole job back: a server has lost its
// weights, or the mode takes no next life.
func (k *keeper) comesBack(e exit) bool {
	usage := e.code == exitUsage && !e.panicked
	return e.code != 0 && e.code != k.wentBack && !usage && !k.deserted(e.role.kind) &&
		*k.restarts.alone(e.role.kind) > 0
}

// deserted says that a role of a kind would have no other to come back to: servers end well when no worker is left.
func (k *keeper) deserted(of kind) bool {
	if of == server {
		return k.phase == finishing && k.whole
	}
	return len(k.early) > 0
}

// startAgain has a role started again, behind a pause if its processes end soon, over and over.
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

// rested takes note that a role's pause is over, if it is the one that it is in.
func (k *keeper) rested(r role) order {
	if p, is := k.paused[r]; !is || k.now().Before(p.till) {
		return order{}
	}
	delete(k.paused, r)
	return k.begin(r)
}

// forget leaves roles that are in pauses of their own where they are, as the job ends.
func (k *keeper) forget() {
	for r := range k.paused {
		delete(k.alive, r)
	}
	clear(k.paused)
}

func (k *keeper) fail(e exit) order {
	k.forget()
	k.culprit, k.code = &e, e.code
	// a command line that makes no sense makes none the next time
	k.again = k.restarts.all > 0 && (e.code != exitUsage || e.panicked)
	if len(k.alive) == 0 {
		k.say("%v failed: %s", e.role, e.how)
		return k.rest()
	}
	k.say("%v failed: %s. Ending the others: %s", e.role, e.how, k.names(""))
	return k.end()
}

// rest begins the pause before the next attempt, if there is to be one and everybody has ended.
func (k *keeper) rest() order {
	if !k.again || len(k.alive) > 0 {
		return order{}
	}
	k.phase = pausing
	k.restarts.all--
	pause := min(firstPause<<min(k.attempt-1, 10), longestPause)
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

// signalled takes note that somebody wants the job to end: at once, if it is not the first time.
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

// end asks everybody to end.
func (k *keeper) end() order {
	k.phase = ending
	return order{stop: terminate, wait: max(k.grace, 1)}
}

// expired takes note that the time of the last order is over.
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

// names lists who is alive of a kind, or of both.
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

// list names roles; many are counted.
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
