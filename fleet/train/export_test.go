package train

// Anew has a job know how another of it is made, as Main does.
func (j *Job) Anew(job func() (Job, error)) { j.standIns = &standIns{anew: job} }
