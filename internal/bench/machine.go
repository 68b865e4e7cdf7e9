package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// machine is where a run was, and what was compared there.
type machine struct {
	CPU      string
	Features []string
	Cores    int
	System   string
	Go       string
	Commit   string
	Date     string
	Rounds   int
	Others   float64           // share of the cores that other programs had before the first row; -1 where unknown
	Peers    map[string]string // versions
}

// features are vector units that a product's speed depends on, as Linux names them.
var features = []string{"avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "asimd", "sve"}

// thisMachine looks at the machine that it runs on.
func thisMachine(ctx context.Context) machine {
	m := machine{CPU: runtime.GOARCH, Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Date: time.Now().UTC().Format("2006-01-02"), Peers: map[string]string{}}
	text, _ := os.ReadFile("/proc/cpuinfo") // other systems have none
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	if name := values["model name"]; name != "" {
		m.CPU = fmt.Sprintf("%s (family %s, model %s)", name, values["cpu family"], values["model"])
	}
	has := strings.Fields(values["flags"] + values["Features"])
	m.Features = slices.DeleteFunc(slices.Clone(features), func(f string) bool { return !slices.Contains(has, f) })
	git := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--exclude=*")
	if out, err := git.Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	return m
}

// avx512 says whether goals of such machines hold.
func (m machine) avx512() bool { return slices.Contains(m.Features, "avx512f") }

// same says whether figures of two runs may stand in one table.
func (m machine) same(o machine) bool {
	return m.CPU == o.CPU && m.Cores == o.Cores && m.Commit == o.Commit && m.Rounds == o.Rounds
}

// String is the line above tables.
func (m machine) String() string {
	var peers []string
	for name, version := range m.Peers {
		peers = append(peers, name+" "+version)
	}
	slices.Sort(peers)
	return fmt.Sprintf("%d cores of %s with %s; %s, %s; %s at commit %s; peers: %s; rounds: %d",
		m.Cores, m.CPU, strings.Join(m.Features, ", "), m.System, m.Go, m.Date, m.Commit,
		strings.Join(peers, ", "), m.Rounds)
}

// loadLimit is the share of the cores beyond which others disturb too much for a verdict.
const loadLimit = 0.05

// quiet says whether a share of others allows verdicts; an unknown one, below 0, does not.
func quiet(others float64) bool { return others >= 0 && others <= loadLimit }

// meter measures what other programs use of the cores.
type meter struct {
	stat  func() ([]byte, error) // the system's own count
	began time.Time
	busy  float64
	own   time.Duration
}

func readStat() ([]byte, error) { return os.ReadFile("/proc/stat") }

// startMeter begins to measure; own is what this program's processes have used so far.
func startMeter(stat func() ([]byte, error), own time.Duration) *meter {
	m := &meter{stat: stat, began: time.Now(), own: own}
	m.busy = m.seconds()
	return m
}

// seconds are those of user, nice, system and stolen time of all cores together; -1 where the system does not say. Time
// of interrupts is left out: loopback's own is among it.
func (m *meter) seconds() float64 {
	text, err := m.stat()
	f := strings.Fields(strings.SplitN(string(text), "\n", 2)[0])
	if err != nil || len(f) < 9 || f[0] != "cpu" {
		return -1
	}
	sum := 0.0
	for _, i := range []int{1, 2, 3, 8} {
		ticks, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return -1
		}
		sum += ticks / 100 // a second has 100, whatever the kernel counts by
	}
	return sum
}

// others is the share of the cores that other programs have had; own is what this program's have used by now.
func (m *meter) others(own time.Duration, cores int) float64 {
	now := m.seconds()
	if now < 0 || m.busy < 0 {
		return -1
	}
	return max(0, now-m.busy-(own-m.own).Seconds()) / (time.Since(m.began).Seconds() * float64(cores))
}
