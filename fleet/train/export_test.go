package train

// Anew has a job know how another of it is made, as Main does.
func (j *Job) Anew(job func() (Job, error)) { j.anew = job }

// ErrOver is the end of a role that was started again behind the end of its job.
var ErrOver = errOver

// Looks has a job look at its rows before it trains, as Main does.
func (j *Job) Looks(looks bool) { j.looks = looks }
