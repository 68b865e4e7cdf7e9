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
var MemoryLimit = sync.OnceValue(func() int64 { return memoryLimit(os.DirFS("/")) })

// unbounded is the limit from which on version 1 means no limit: it rounds the largest number down to a page.
const unbounded = math.MaxInt64 >> 16 << 16

// memoryLimit returns the lowest limit of the process's group and its parents. A container sees its own group as the
// root, whatever its path is.
func memoryLimit(root fs.FS) (limit int64) {
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
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
		for group := path.Join("/", parts[2]); ; group = path.Dir(group) {
			if n := bound(root, path.Join(mount, group, file)); n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// bound returns the limit in a file, 0 for none.
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
