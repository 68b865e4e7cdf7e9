package mistyped

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

// TestParse: a mistake is one line, with the flag that was meant if there is one, and the set stays as it was.
func TestParse(t *testing.T) {
	var screen strings.Builder
	usage := 0
	fs := flag.NewFlagSet("train", flag.PanicOnError)
	fs.SetOutput(&screen)
	fs.Usage = func() { usage++ }
	for _, name := range []string{"worker_num", "server_num", "epochs", "eval_every", "np", "lr"} {
		fs.Int(name, 0, "")
	}
	fs.Duration("checkpoint_every", 0, "")
	fs.Uint64("seed", 0, "")
	fs.Float64("decay", 0, "")
	fs.Bool("quiet", false, "")
	hidden := func(name string) bool { return name == "np" }
	for arg, want := range map[string]string{
		"-workers_num=2":           "flag provided but not defined: -workers_num: did you mean -worker_num? -h lists all flags",
		"--worker-num=2":           "did you mean -worker_num?",
		"--num_workers=2":          "did you mean -worker_num?",
		"--Epoch=2":                "did you mean -epochs?",
		"-evalEvery":               "did you mean -eval_every?",
		"-nap=1":                   "not defined: -nap; -h lists all flags",
		"-m":                       "not defined: -m; -h lists all flags",
		"-rate":                    "not defined: -rate; -h lists all flags",
		"-epochs=x":                `invalid value "x" for flag -epochs: want a whole number`,
		"-epochs=1e3":              `invalid value "1e3" for flag -epochs: want a whole number`,
		"-epochs= for -x":          `invalid value " for -x" for flag -epochs: want a whole number`,
		"-checkpoint_every=10":     `invalid value "10" for flag -checkpoint_every: want a time with its unit, such as 10s`,
		"-seed=-1":                 `invalid value "-1" for flag -seed: want a whole number, from 0`,
		"-decay=x":                 `invalid value "x" for flag -decay: want a number`,
		"-quiet=maybe":             `invalid boolean value "maybe" for -quiet: want true or false`,
		"-lr=99999999999999999999": "value out of range",
	} {
		if err := Parse(fs, []string{arg}, hidden); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
	if err := Parse(fs, []string{"-h"}, hidden); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	if err := Parse(fs, []string{"-epochs=3", "rest"}, nil); err != nil || fs.Arg(0) != "rest" || fs.Lookup("epochs").Value.String() != "3" {
		t.Errorf("%v, %v", err, fs.Args())
	}
	if screen.Len() > 0 || usage > 0 || fs.ErrorHandling() != flag.PanicOnError || fs.Output() != &screen {
		t.Errorf("%q was shown, usage %d times; the set is %+v", screen.String(), usage, fs)
	}
}
