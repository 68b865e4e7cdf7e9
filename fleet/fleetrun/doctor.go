package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/rolemaker"
)

const doctorUsage = "Usage: fleetrun doctor [--timeout 3s] [--checkpoint DIR] [--journal DIR] [--json] " +
	"[the job's own flags] [program]\n\n" +
	"Says what a role of a job finds on this machine, and what it lacks: who it would be by its environment, which " +
	"peers resolve\n" +
	"and answer, versions, limits, security, directories. With the flags of a job, as they are typed on every " +
	"machine, it looks at\n" +
	"each role that fleetrun would start here, and at the directories that a program's flags -checkpoint, -journal, " +
	"-out and\n" +
	"-load name; without, at one with the environment that doctor has itself. Nothing joins the job,\n" +
	"and nothing is sent that a server doesn't refuse. The exit code is 0 if the roles can start, 1 if something is " +
	"missing.\n"

// doctor has the arguments of "fleetrun doctor", and its findings.
type doctor struct {
	timeout             time.Duration
	checkpoint, journal string
	json                bool

	options  *options
	patients []patient
	findings
}

// patient is a role that is examined.
type patient struct {
	name   string // "" for a single role
	getenv func(string) string
	id     rolemaker.Identity
	told   bool // id is known
}

// runDoctor is "fleetrun doctor".
func runDoctor(args []string, con *console) error {
	d, err := parseDoctor(args)
	if err == nil {
		err = d.admit(os.Environ())
	}
	if err != nil {
		return err
	}
	d.examine(context.Background())
	if d.json {
		text, _ := json.MarshalIndent(d.findings, "", "  ") // plain data always encode
		fmt.Fprintf(con.out, "%s\n", text)
	} else {
		d.write(con.out)
	}
	if len(d.Missing) > 0 {
		return status(exitFailure)
	}
	return nil
}

func parseDoctor(args []string) (*doctor, error) {
	d := &doctor{options: newOptions(), findings: findings{Missing: []string{}, Notes: []string{}}}
	f := d.options.flags
	f.DurationVar(&d.timeout, "timeout", 3*time.Second, "how long a name or a peer may take")
	f.StringVar(&d.checkpoint, "checkpoint", "", "a `directory` of checkpoints that the job writes")
	f.StringVar(&d.journal, "journal", "", "a `directory` of servers' journals")
	f.BoolVar(&d.json, "json", false, "for programs")
	if err := mistyped.Parse(f, args, d.options.isRefused); err != nil {
		return d, err
	}
	if d.timeout <= 0 {
		return d, fmt.Errorf("--timeout=%v: give names and peers some time", d.timeout)
	}
	if f.NArg() > 0 {
		d.options.program, d.options.args = f.Arg(0), f.Args()[1:]
	}
	return d, d.options.check()
}

// admit finds the roles to examine: those of the command line that would run here, or one in the current environment.
func (d *doctor) admit(environ []string) error {
	o := d.options
	if o.servers == "" && !o.serverNum.set && !o.collective() {
		d.patients = []patient{{getenv: lookup(environ)}}
		return nil
	}
	j, err := plan(o, thisMachine())
	if err != nil {
		return err
	}
	for _, r := range j.here {
		d.patients = append(d.patients, patient{name: r.String(), getenv: lookup(inherit(environ, j.environment(r)))})
	}
	return nil
}

// lookup is os.Getenv for another environment.
func lookup(environ []string) func(string) string {
	values := map[string]string{}
	for _, v := range slices.Backward(environ) { // the first entry counts
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

// examine examines everything, in the order of the report.
func (d *doctor) examine(ctx context.Context) {
	for i := range d.patients {
		d.identify(&d.patients[i])
	}
	secured, err := d.transport()
	d.readPod(ctx)
	d.askPeers(ctx, secured)
	d.readClock(time.Now())
	d.readVersions()
	d.readLimits()
	d.readSecurity(secured, err)
	d.readDirectories()
	d.findProgram()
}

// findProgram reports whether the program on the command line can be run, or built.
func (d *doctor) findProgram() {
	name := d.options.program
	if name == "" {
		return
	}
	d.section("program")
	info, err := os.Stat(name)
	if err == nil && info.Mode().IsRegular() && !strings.HasSuffix(name, ".go") {
		d.say(name, "an executable file: %v", executable(info))
		if !executable(info) {
			d.lacks("%s can't be run: chmod +x makes it an executable file", name)
		}
		return
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		d.say(name, "a Go package, but no go command was found")
		d.lacks("cannot build %s without a go command: build it elsewhere, and name the executable", name)
		return
	}
	d.say(name, "a package of Go, which %s builds", tool)
}
