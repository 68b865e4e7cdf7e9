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

// Parse reads a command line as fs.Parse does, but neither writes anything nor ends the process: whatever is wrong is
// the error, in a line, which says of a flag that there is none of which one was probably meant. Flags that are hidden,
// if any, are never meant. [flag.ErrHelp] comes as it is, and nothing has been shown.
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
		return fmt.Errorf("%w: is -%s meant? -h lists all flags", err, meant)
	}
	return fmt.Errorf("%w; -h lists all flags", err)
}

// wanted says what a flag takes, in place of package flag's "parse error".
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

// kindOf is what is written for a value of a flag.
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

// nearFlag is [Near] among the flags of a set, with the words of a name in any order: of -num_workers, -worker_num.
func nearFlag(name string, fs *flag.FlagSet, hidden func(string) bool) string {
	names := map[string]string{} // by their words in order
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

// words are the words of a flag in the order of the alphabet.
func words(name string) string {
	all := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
	slices.Sort(all)
	return strings.Join(all, "_")
}
