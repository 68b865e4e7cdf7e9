package rolemaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// source reads the variables of one launcher or operator. A claim without names says nothing. An error is what keeps
// the claim from being an identity; the values in such a claim are still compared with others.
type source func(e env) (claim, error)

// sources are all sources but gofleet's own variables, in order of precedence.
func sources() []source {
	return []source{env.paddle, env.paddleJob, env.tfConfig, env.tony, env.volcano, env.mpi, env.ranks, env.stranger}
}

// Tells reports whether an environment variable of this name determines a process's role. A launcher of processes
// should not pass on such variables of its own.
func Tells(name string) bool {
	names := slices.Concat(paddleNames(), declaredNames(), []string{envIP, envOldIP, envPort, envCurrent, envNodes,
		envTFConfig, envCluster, envCompletion, "VC_TASK_INDEX", "VK_TASK_INDEX"})
	for _, l := range numbered() {
		names = append(names, l.rank, l.size)
	}
	tasks := strings.HasPrefix(name, "VC_") && (strings.HasSuffix(name, "_HOSTS") || strings.HasSuffix(name, "_NUM"))
	return tasks || slices.Contains(names, name)
}

// FromEnvironment returns the role maker for the variables that are set, in this order:
//
//  1. gofleet's own variables, FLEET_ROLE, FLEET_INDEX, FLEET_SERVERS and FLEET_WORKERS; anything that they leave out
//     is taken from the first of the following that is set, or from the pod's own name and index;
//  2. [PaddleCloud], or [Collective] where no server is named;
//  3. Kubeflow's PaddleJob, whose processes meet at PADDLE_MASTER;
//  4. [TFConfig], or its cluster and task in CLUSTER_SPEC, JOB_NAME and TASK_INDEX, as TonY sets them;
//  5. [Volcano];
//  6. Open MPI, MVAPICH2, MPICH, Intel MPI and Slurm, if they started several ranks: [MPISymmetric], or the first
//     FLEET_SERVERS of them as servers;
//  7. the ranks of torchrun, PyTorch's, JAX's and LeaderWorkerSet's operators: a collective job, or the first
//     FLEET_SERVERS of them as servers;
//  8. [Local], unless another launcher says that there are several processes.
//
// Sources that differ in role, index, or the number of workers or servers are refused, with the variables of both; a
// source may say less. FLEET_ROLE and FLEET_INDEX take precedence, and the role maker's Notes name the variables that
// they override. A process of a job never trains alone by mistake: if variables are missing, Identity returns an error
// that names them.
//
// getenv looks a variable up; nil means os.Getenv.
func FromEnvironment(getenv func(string) string) RoleMaker {
	e := environment(getenv)
	c, notes, err := e.settle()
	f := found{claim: c, notes: notes}
	switch {
	case err != nil && c.speaks():
		f.err = fmt.Errorf("rolemaker: %s: %w (found in the environment: %s)", c.source, err, c.variables())
	case err != nil:
		f.err = fmt.Errorf("rolemaker: the environment is of no job that can be told: %w", err)
	case c.meeting != nil:
		return meets{f, MPISymmetric{Getenv: getenv}}
	case !c.speaks():
		f.id, _ = Local{}.Identity()
	}
	return f
}

// settle combines all sources, with notes on how they were combined.
func (e env) settle() (c claim, notes []string, err error) {
	own, err := e.declared()
	if err = cmp.Or(err, e.mistyped()); err != nil {
		return own, nil, err
	}
	var all []claim
	var lacks error // of the first source with a claim
	for _, read := range sources() {
		said, err := read(e)
		if said.speaks() && len(all) == 0 {
			lacks = err
		}
		if said.speaks() {
			all = append(all, said)
		}
	}
	c = own
	if len(all) > 0 && own.lacking() != nil {
		c = own.or(all[0])
	}
	apart, _ := errors.AsType[disagreement](lacks)
	switch {
	case apart.error != nil && own.lacking() != nil:
		return c, nil, apart
	case !c.speaks():
		if note := e.unpaired(); note != "" {
			notes = append(notes, note)
		}
		return c, notes, nil
	case own.speaks():
		if c, err = e.completed(c); err != nil {
			return c, nil, err
		}
		if err := c.lacking(); err != nil {
			return c, nil, cmp.Or(lacks, err)
		}
	case lacks != nil:
		return c, nil, lacks
	}
	for _, other := range all {
		note, err := e.compare(own, c, other)
		if err != nil {
			return claim{}, nil, err
		}
		notes = append(notes, note...)
	}
	return c, notes, nil
}

// compare compares a source with the result. Differences that FLEET_ROLE or FLEET_INDEX decides are noted, all others
// are errors.
func (e env) compare(own, c, other claim) (notes []string, err error) {
	role, index, counts := c.differs(other)
	switch {
	case counts, role && own.id.Role == 0, index && !role && !own.indexed:
		return nil, fmt.Errorf("%s says %v (%s), but %s says %v (%s): unset those that are left over, or say which is "+
			"right with %s and %s", c.source, c, e.show(c.names...), other.source, other, e.show(other.names...),
			envFleetRole, envFleetIndex)
	case role || index:
		return []string{fmt.Sprintf("%s: they win over %s, which says %v (%s)",
			e.show(envFleetRole, envFleetIndex), other.source, other, e.show(other.names...))}, nil
	}
	return nil, nil
}

// found is the role maker that the environment selects; its errors name the variables.
type found struct {
	claim
	notes []string
	err   error // why there is no identity
}

// String names the role maker, and the variables that select it.
func (f found) String() string {
	switch {
	case f.speaks():
	case f.err != nil:
		return "none"
	default:
		return "rolemaker.Local"
	}
	return fmt.Sprintf("rolemaker.%s, found in the environment: %s", f.source, f.variables())
}

func (c claim) variables() string { return strings.Join(c.names, ", ") }

// Notes are remarks for a person on how the role was found.
func (f found) Notes() []string { return f.notes }

// Identity implements [RoleMaker].
func (f found) Identity() (Identity, error) {
	switch {
	case f.err != nil:
		return Identity{}, f.err
	case f.meeting != nil && f.id.Workers == 0:
		return Identity{}, fmt.Errorf("rolemaker: %s: this is %v: %d processes meet at %s to find out how many are "+
			"servers", f.source, f.claim, f.meeting.size, f.meeting.where)
	}
	return f.id, nil
}

// meets is a found role maker whose processes must exchange addresses.
type meets struct {
	found
	by MPISymmetric
}

// Resolve is what [RoleMaker] says of it.
func (m meets) Resolve(ctx context.Context) (Identity, error) {
	id, err := m.meet(ctx, environment(m.by.Getenv), m.by)
	if err != nil {
		err = fmt.Errorf("rolemaker: %s: %w (found in the environment: %s)", m.source, err, m.variables())
	}
	return id, err
}

// only is the identity from the variables of one source. If none is set the process is alone, unless another source
// says that it is one of several. gofleet's own variables must not differ.
func (e env) only(name string, read source) (Identity, error) {
	said, err := read(e)
	own, bad := e.declared()
	err = cmp.Or(e.mistyped(), err, bad)
	if err == nil && said.speaks() {
		_, err = e.compare(claim{}, own, said)
	} else if err == nil {
		said.id, _ = Local{}.Identity()
		err = e.someoneElse()
	}
	if err != nil {
		return Identity{}, fmt.Errorf("rolemaker: %s: %w", name, err)
	}
	return said.id, nil
}
