package fleet_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/rolemaker"
)

// TestMistypedVariables: a name that is nearly right is refused, with the right one, by any role maker.
func TestMistypedVariables(t *testing.T) {
	// Serial: it sets variables of the environment.
	for name, meant := range map[string]string{"FLEET_TOKENS": "FLEET_TOKEN", "FLEET_INSECUR": "FLEET_INSECURE", "FLEET_TLSDIR": "FLEET_TLS_DIR",
		"FLEET_READ_TOKENS": "FLEET_READ_TOKEN", "FLEET_READTOKEN": "FLEET_READ_TOKEN", "FLEET_READ_ROW": "FLEET_READ_ROWS", "FLEET_TSL_DIR": "FLEET_TLS_DIR", "FLEET_ROEL": "FLEET_ROLE", "FLEET_PROT": "FLEET_PORT", "FLEET_PORTS": "FLEET_PORT", "FLEET_SERVER": "FLEET_SERVERS"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "1")
			_, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{})
			if err == nil || !strings.Contains(err.Error(), name+" is set, which nothing reads: did you mean "+meant+"?") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestVariablesOfTheProgram: a program has short variables of its own that begin like ours, and those of services whose names begin with fleet.
func TestVariablesOfTheProgram(t *testing.T) {
	// Serial: it sets variables of the environment.
	for _, name := range []string{"FLEET_MODE", "FLEET_NODE", "FLEET_HOST", "FLEET_JOB", "FLEET_ENV", "FLEET_ID", "FLEET_DIR", "FLEET_A_PORT", "FLEET_A_SERVICE_PORT",
		"TRAINING_MODE", "TRAINING_NODE"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "1")
			if _, err := fleet.New(t.Context(), nil, fleet.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAPodThatTrainsAloneSaysSo: and a role that is said in gofleet's own words says over whom.
func TestAPodThatTrainsAloneSaysSo(t *testing.T) {
	// Serial: it sets variables of the environment.
	var log bytes.Buffer
	o := fleet.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	t.Setenv("JOB_COMPLETION_INDEX", "1")
	t.Setenv("HOSTNAME", "wd-1")
	f, err := fleet.New(t.Context(), nil, o)
	if err != nil || f.ServerNum() > 0 || f.WorkerNum() > 1 || !strings.Contains(log.String(), "level=INFO msg=\"fleet: pod wd-1 has JOB_COMPLETION_INDEX=1 and trains alone") {
		t.Errorf("error %v, log %s", err, log.String())
	}
	t.Setenv("TF_CONFIG", `{"cluster":{"ps":["a:1"],"worker":["b:1","c:1"]},"task":{"type":"worker","index":1}}`)
	t.Setenv("FLEET_INDEX", "0")
	f, err = fleet.New(t.Context(), nil, o)
	if err != nil || f.WorkerIndex() != 0 || !strings.Contains(log.String(), "FLEET_INDEX is 0: they win over TFConfig, which says worker 1 of 2") {
		t.Errorf("error %v, log %s", err, log.String())
	}
}

// TestProbesHaveAPort: FLEET_HEALTH is where this process answers probes, also after it has joined anew; what is no address is refused.
func TestProbesHaveAPort(t *testing.T) {
	// Serial: it sets variables of the environment.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
	free.Close()
	t.Setenv("FLEET_HEALTH", free.Addr().String())
	for range 2 {
		if _, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{}); err != nil {
			t.Fatal(err)
		}
		answer, err := http.Get("http://" + free.Addr().String() + "/livez")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", answer, err)
		}
	}
	t.Setenv("FLEET_HEALTH", "everywhere")
	if _, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{}); err == nil || !strings.Contains(err.Error(), "FLEET_HEALTH=everywhere") {
		t.Errorf("error %v", err)
	}
}

// meeter is the role maker of ranks that find each other.
type meeter struct {
	rolemaker.Local
	meet func()
}

func (m meeter) Resolve(context.Context) (rolemaker.Identity, error) {
	m.meet()
	return m.Identity()
}

// TestProbesWhileRanksMeet: a process lives, and shows what it counts, also while it waits for other ranks, which takes longer than a probe has.
func TestProbesWhileRanksMeet(t *testing.T) {
	// Serial: it sets variables of the environment.
	places := porttest.Free(t, 2)
	t.Setenv("FLEET_HEALTH", places[0])
	t.Setenv("FLEET_METRICS", places[1])
	met := false
	_, err := fleet.New(t.Context(), meeter{meet: func() {
		met = true
		for path, want := range map[string]int{places[0] + "/livez": http.StatusOK, places[0] + "/readyz": http.StatusServiceUnavailable, places[1] + "/metrics": http.StatusOK} {
			if answer, err := http.Get("http://" + path); err != nil || answer.StatusCode != want {
				t.Errorf("%s: %v, %v", path, answer, err)
			}
		}
	}}, fleet.Options{})
	if err != nil || !met {
		t.Errorf("met %t, %v", met, err)
	}
}

// TestAFleetIsLogged: a fleet is logged by its role and number, as JSON too.
func TestAFleetIsLogged(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	said := map[string]bool{}
	trial.Cluster(1, 2).Run(t, func(_ context.Context, f *fleet.Fleet) error {
		mu.Lock()
		defer mu.Unlock()
		var line bytes.Buffer
		slog.New(slog.NewJSONHandler(&line, nil)).Info("", "fleet", f)
		_, as, _ := strings.Cut(line.String(), `"fleet":`)
		said[strings.TrimSpace(as)] = true
		return nil
	})
	for _, want := range []string{`{"role":"server","index":0}}`, `{"role":"worker","index":0}}`, `{"role":"worker","index":1}}`} {
		if !said[want] {
			t.Errorf("no role is logged as %s, but as %v", want, said)
		}
	}
}

// TestRestartIsAlways: what FLEET_RESTART says is understood as Kubernetes spells it too, and what nothing does is refused.
func TestRestartIsAlways(t *testing.T) {
	// Serial: it sets variables of the environment.
	for value, refused := range map[string]bool{"": false, "always": false, "Always": false, "OnFailure": true, "1": true} {
		t.Setenv("FLEET_RESTART", value)
		_, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{})
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "it can be always") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestReadRows: what is no number of rows is refused by the variable's name.
func TestReadRows(t *testing.T) {
	// Serial: it sets variables of the environment.
	for value, refused := range map[string]bool{"": false, "1": false, "50000": false, "0": true, "-1": true, "1e6": true, "many": true} {
		t.Setenv("FLEET_READ_ROWS", value)
		_, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{})
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "FLEET_READ_ROWS is ") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestVariablesAreKnown finds the variables that sources and MACHINES.md speak of.
func TestVariablesAreKnown(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	names := regexp.MustCompile(`\bFLEET_[A-Z_]*[A-Z]\b`)
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{".ci", "trial", "twin", "jobs", "law"}, d.Name()) { // which only tests use
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, name := range names.FindAllString(string(data), -1) {
			found[name] = true
		}
		return err
	})
	if err != nil || len(found) != len(fleet.Variables) {
		t.Errorf("sources speak of %v, known are %v, error %v", found, fleet.Variables, err)
	}
	machines, err := os.ReadFile("../MACHINES.md")
	law.Check(t, err)
	for _, name := range fleet.Variables {
		if !found[name] || !strings.Contains(string(machines), "`"+name) && !strings.Contains(string(machines), name+"=") {
			t.Errorf("nothing reads %s, or MACHINES.md doesn't speak of it", name)
		}
	}
}
