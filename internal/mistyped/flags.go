package mistyped

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Parse parses a command line as fs.Parse does, but neither writes anything nor ends the process. Its error is one
// line; for an unknown flag it suggests the flag that was probably meant. It never suggests flags for which hidden, if
// not nil, is true. It returns [flag.ErrHelp] unchanged, and has printed nothing.
func Parse(fs *flag.FlagSet, args []string, hidden func(name string) bool) error {
	defer fs.Init(fs.Name(), fs.ErrorHandling())
	defer fs.SetOutput(fs.Output())
	defer func(usage func()) { fs.Usage = usage }(fs.Usage)
	fs.Init(fs.Name(), flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	err := fs.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return wanted(fs, err)
	}
	if meant := nearFlag(name, fs, hidden); meant != "" {
		return fmt.Errorf("%w: did you mean -%s? -h lists all flags", err, meant)
	}
	return fmt.Errorf("%w; -h lists all flags", err)
}

// wanted replaces package flag's "parse error" by a description of the flag's value.
func wanted(fs *flag.FlagSet, err error) error {
	text, cut := strings.CutSuffix(err.Error(), ": parse error")
	if !cut {
		return err
	}
	_, behind, _ := strings.Cut(text, " for ") // "flag -name", or "-name" of a boolean
	for _, name := range strings.Fields(behind) {
		f := fs.Lookup(strings.TrimPrefix(name, "-"))
		if f == nil {
			continue
		}
		if getter, is := f.Value.(flag.Getter); is {
			return fmt.Errorf("%s: want %s", text, kindOf(getter.Get()))
		}
	}
	return err
}

// kindOf describes how a flag's value is written.
func kindOf(value any) string {
	switch value.(type) {
	case time.Duration:
		return "a time with its unit, such as 10s, 5m or 1h30m"
	case int, int64:
		return "a whole number"
	case uint, uint64:
		return "a whole number, from 0"
	case bool:
		return "true or false"
	}
	return "a number"
}

// nearFlag is [Near] for the flags of a set, with the words of a name in any order: for -num_workers, -worker_num.
func nearFlag(name string, fs *flag.FlagSet, hidden func(string) bool) string {
	names := map[string]string{} // by their words in alphabetical order
	var known, ordered []string
	fs.VisitAll(func(f *flag.Flag) {
		if hidden == nil || !hidden(f.Name) {
			known, ordered = append(known, f.Name), append(ordered, words(f.Name))
			names[words(f.Name)] = f.Name
		}
	})
	if meant := Near(name, known); meant != "" {
		return meant
	}
	return names[Near(words(name), ordered)]
}

// words returns the words of a flag in alphabetical order.
func words(name string) string {
	all := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
	slices.Sort(all)
	return strings.Join(all, "_")
}
