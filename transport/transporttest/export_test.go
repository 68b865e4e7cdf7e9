package transporttest

import "time"

// SetPatience makes an exam that is going to fail do so sooner.
func SetPatience(d time.Duration) { patience = d }
