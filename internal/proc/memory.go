package proc

import (
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MemoryLimit returns the memory limit, in bytes, of this process's control group; 0 if there is none. It is read once.
// Tests replace it.
var MemoryLimit = func() int64 { return bounding().limit }

// MemoryUsed returns the bytes that all processes of the group with that limit use together, without files that can be
// dropped from memory; 0 if that is not known.
func MemoryUsed() int64 { return bounding().used(os.DirFS("/")) }

var bounding = sync.OnceValue(func() group { return memoryLimit(os.DirFS("/")) })

// group is a control group with a limit of memory.
type group struct {
	limit int64
	dir   string
}

// used returns the bytes that the group's processes use, 0 if that is not known.
func (g group) used(root fs.FS) int64 {
	for total, dropped := range map[string]string{"memory.current": "inactive_file",
		"memory.usage_in_bytes": "total_inactive_file"} { // version 2 and 1
		all := bound(root, path.Join(g.dir, total))
		stat, err := fs.ReadFile(root, path.Join(g.dir, "memory.stat"))
		if all == 0 || err != nil {
			continue
		}
		for line := range strings.Lines(string(stat)) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == dropped {
				files, _ := strconv.ParseInt(value, 10, 64)
				return max(0, all-files)
			}
		}
	}
	return 0
}

// unbounded is the limit from which on version 1 means no limit: it rounds the largest number down to a page.
const unbounded = math.MaxInt64 >> 16 << 16

// memoryLimit returns the group with the lowest limit of the process's own and its parents. A container sees its own
// group as the root, whatever its path is.
func memoryLimit(root fs.FS) (lowest group) {
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return lowest
	}
	for line := range strings.Lines(string(list)) {
		// hierarchy:controllers:path; version 2 has hierarchy 0 and no controllers
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		switch controllers := strings.Split(parts[1], ","); {
		case controllers[0] == "" && parts[0] == "0":
		case slices.Contains(controllers, "memory"):
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for at := path.Join("/", parts[2]); ; at = path.Dir(at) {
			dir := path.Join(mount, at)
			if n := bound(root, path.Join(dir, file)); n > 0 && (lowest.limit == 0 || n < lowest.limit) {
				lowest = group{n, dir}
			}
			if at == "/" {
				break
			}
		}
	}
	return lowest
}

// bound returns the bytes in a file, 0 for no bound.
func bound(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 || n >= unbounded { // "max" is no limit
		return 0
	}
	return n
}
