package twin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/strategy"
)

// What is wrong with a leg that is tried first, and has to be refused.
const (
	oddNames   = "names"   // two params whose tensors have one name
	oddOrigins = "origins" // ranks that begin from other parts of a checkpoint
	oddBytes   = "bytes"   // a checkpoint of which a byte is another
	oddLength  = "length"  // a checkpoint of which a file ends early
)

// refusals are what each is refused by.
var refusals = map[string]string{oddNames: "can't be saved beside each other", oddOrigins: "builds another job",
	oddBytes: "damaged", oddLength: "damaged"}

// drawOdd draws what is wrong with a leg at first, if anything.
func drawOdd(r *rand.Rand, n Net, l Leg) string {
	all := []string{""}
	if len(n.Tables) > 0 {
		all = append(all, oddNames)
	}
	if l.From.How == "restore" && !l.From.Refused {
		all = append(all, oddBytes, oddLength)
		if l.kind() == "collective" && !l.From.WeightsOnly {
			all = append(all, oddOrigins, oddOrigins, oddOrigins, oddOrigins, oddOrigins, oddOrigins, oddOrigins)
		}
	}
	return pick(r, all...)
}

// odd has a leg begin as it must not, which must fail and say what is wrong.
func (r *run) odd(t *testing.T, i int, l Leg) (err error) {
	l.Calls, l.Strikes, l.Returns, l.Replaced, l.Every = nil, nil, nil, nil, 0
	l.Strategy.Recovery = strategy.Recovery{}
	if l.Odd == oddBytes || l.Odd == oddLength {
		if l.From.Dir, err = r.damaged(t.Context(), l); err != nil {
			return err
		}
	}
	synctest.Test(t, func(*testing.T) { err = r.leg(i, l) })
	if err == nil || !strings.Contains(err.Error(), refusals[l.Odd]) {
		return fmt.Errorf("it begins though its %s are wrong: %v", l.Odd, err)
	}
	return nil
}

// damaged is a copy of what a leg begins from, of which a drawn file is another.
func (r *run) damaged(ctx context.Context, l Leg) (dir string, err error) {
	draw, from, dir := rand.New(rand.NewPCG(r.p.Seed, 22)), r.at(l.From.Dir), r.at("damaged")
	if r.store == nil {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o777)); err != nil {
			return "", err
		}
	}
	files, err := r.files(from, "*.*")
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("%s has no files: %v", l.From.Dir, err)
	}
	wrong := draw.IntN(len(files))
	for i, name := range files {
		data, err := r.readFile(ctx, name)
		if err != nil {
			return "", err
		}
		if i == wrong {
			if len(data) == 0 {
				return "", fmt.Errorf("%s is empty", name)
			}
			if at := draw.IntN(len(data)); l.Odd == oddBytes {
				data = slices.Clone(data)
				data[at] ^= 1 << draw.IntN(8)
			} else {
				data = data[:at]
			}
		}
		if err := r.writeFile(ctx, dir+strings.TrimPrefix(name, from), data); err != nil {
			return "", err
		}
	}
	return dir, nil
}
