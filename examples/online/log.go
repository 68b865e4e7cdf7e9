package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Users and items of the log, whose popular items are others each day; ids of the three kinds are apart.
const (
	users, items, popular = 5000, 20_000, 800
	firstItem, firstHour  = 1 << 20, 1 << 30
)

// makeLog makes days of a log, in four files each, and marks each as complete.
func makeLog(dir string, days, rows int) error {
	for day := range days {
		at := filepath.Join(dir, fmt.Sprintf("%02d%02d", 4+day/30, 1+day%30))
		if err := os.MkdirAll(at, 0o777); err != nil {
			return err
		}
		for part := range 4 {
			if err := makeFile(filepath.Join(at, fmt.Sprintf("part-%d", part)), day, part, rows/4); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(at, "_SUCCESS"), nil, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func makeFile(name string, day, part, rows int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	r := rand.New(rand.NewPCG(uint64(day), uint64(part)))
	item := func() int { return (int(popular*r.Float64()*r.Float64()) + day*popular/4) % items }
	for range rows {
		user, it, seen := int(users*r.Float64()*r.Float64()), item(), item()
		click := 0
		if r.Float64() < 1/(1+math.Exp(1.5-2*quality(it)-2*alike(user, it)-alike(seen, it))) {
			click = 1
		}
		fmt.Fprintf(w, "1 %d 1 %d 1 %d 1 %d 1 %d\n", click, 1+user, firstItem+it, firstHour+r.IntN(24), firstItem+seen)
	}
	return w.Flush()
}

// quality is what all users like of an item, between -1 and 1.
func quality(item int) float64 { return math.Cos(float64(item * 40503 % 628)) }

// alike is 1 for two of one taste, of which there are four.
func alike(a, b int) float64 {
	if a%4 == b%4 {
		return 1
	}
	return 0
}
