package proc

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestMemoryLimit reads both versions as hosts, containers and pods show them: the smallest bound of all groups around the process.
func TestMemoryLimit(t *testing.T) {
	const cgroup, mib = "proc/self/cgroup", 1 << 20
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"not Linux":     {nil, 0},
		"no bound":      {map[string]string{cgroup: "0::/\n"}, 0},
		"max":           {map[string]string{cgroup: "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		"version 2":     {map[string]string{cgroup: "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1048576\n"}, mib},
		"around it":     {map[string]string{cgroup: "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1048576\n"}, mib},
		"the smallest":  {map[string]string{cgroup: "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "3048576\n", "sys/fs/cgroup/a/memory.max": "1048576\n"}, mib},
		"a container":   {map[string]string{cgroup: "0::/../../x\n", "sys/fs/cgroup/memory.max": "1048576\n"}, mib},
		"version 1":     {map[string]string{cgroup: "5:cpu,memory:/d\n1:pids:/\n0::/\n", "sys/fs/cgroup/memory/d/memory.limit_in_bytes": "1048576\n"}, mib},
		"v1, in docker": {map[string]string{cgroup: "4:memory:/docker/77\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n"}, mib},
		"v1, no bound":  {map[string]string{cgroup: "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"garbage":       {map[string]string{cgroup: "x\n0::/\n", "sys/fs/cgroup/memory.max": "-5\n"}, 0},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryLimit(root).limit; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestMemoryUsed: what all processes of the group use counts, without files that can be dropped.
func TestMemoryUsed(t *testing.T) {
	v2 := fstest.MapFS{"g/memory.current": &fstest.MapFile{Data: []byte("900\n")}, "g/memory.stat": &fstest.MapFile{Data: []byte("anon 5\ninactive_file 200\n")}}
	v1 := fstest.MapFS{"g/memory.usage_in_bytes": &fstest.MapFile{Data: []byte("900\n")}, "g/memory.stat": &fstest.MapFile{Data: []byte("inactive_file 1\ntotal_inactive_file 300\n")}}
	for want, root := range map[int64]fstest.MapFS{700: v2, 600: v1, 0: {}} {
		if got := (group{1000, "g"}).used(root); got != want {
			t.Errorf("%d bytes are used, want %d", got, want)
		}
	}
}

// TestCollectorLimit: the group's bound counts where nobody has set another.
func TestCollectorLimit(t *testing.T) {
	for _, c := range []struct{ runtime, group, want int64 }{
		{math.MaxInt64, 0, 0}, {math.MaxInt64, 2000 << 20, 1800 << 20}, {1700 << 20, 2000 << 20, 0}, {1700 << 20, 0, 0},
	} {
		if got := collectorLimit(c.runtime, c.group); got != c.want {
			t.Errorf("limits %d and %d: %d is set, want %d", c.runtime, c.group, got, c.want)
		}
	}
}
