package rolemaker

import (
	"errors"
	"fmt"
	"slices"
)

// UserDefined is an identity that the program states itself:
//
//	rolemaker.UserDefined{
//		CurrentID:       0,
//		Role:            rolemaker.Worker,
//		WorkerNum:       3,
//		ServerEndpoints: []string{"127.0.0.1:6001", "127.0.0.1:6002"},
//	}
type UserDefined struct {
	// CurrentID is the index of this process within its role.
	CurrentID int
	// Role of this process; the zero value means Worker.
	Role Role
	// WorkerNum is the number of workers; 0 means as many as WorkerEndpoints.
	WorkerNum int
	// ServerEndpoints are the endpoints of all servers, at least one.
	ServerEndpoints []string
	// WorkerEndpoints may be empty.
	WorkerEndpoints []string
}

// Identity implements [RoleMaker].
func (u UserDefined) Identity() (Identity, error) {
	id := Identity{
		Role:            u.Role,
		Index:           u.CurrentID,
		Workers:         u.WorkerNum,
		Servers:         slices.Clone(u.ServerEndpoints),
		WorkerEndpoints: slices.Clone(u.WorkerEndpoints),
	}
	if id.Role == 0 {
		id.Role = Worker
	}
	if id.Workers == 0 {
		id.Workers = len(u.WorkerEndpoints)
	}
	if err := u.check(id); err != nil {
		return Identity{}, fmt.Errorf("rolemaker: UserDefined: %w", err)
	}
	return id, nil
}

// check is Identity.Validate in terms of UserDefined's fields.
func (u UserDefined) check(id Identity) error {
	switch {
	case id.Role != Worker && id.Role != Server:
		return fmt.Errorf("Role is %v; it must be Worker or Server", u.Role)
	case len(id.Servers) == 0:
		return errors.New("ServerEndpoints is empty; name at least one server")
	case u.WorkerNum < 0:
		return fmt.Errorf("WorkerNum is %d; it must be positive", u.WorkerNum)
	case id.Workers == 0:
		return errors.New("WorkerNum is 0 and WorkerEndpoints is empty; set the number of workers")
	case len(id.WorkerEndpoints) != 0 && len(id.WorkerEndpoints) != id.Workers:
		return fmt.Errorf("WorkerEndpoints has %d entries, WorkerNum is %d", len(id.WorkerEndpoints), id.Workers)
	case id.Index < 0 || id.Index >= id.peers():
		return fmt.Errorf("CurrentID is %d, but the %vs are 0 to %d", u.CurrentID, id.Role, id.peers()-1)
	}
	if err := checkEndpoints(id.Servers); err != nil {
		return fmt.Errorf("ServerEndpoints: %w", err)
	}
	if err := checkEndpoints(id.WorkerEndpoints); err != nil {
		return fmt.Errorf("WorkerEndpoints: %w", err)
	}
	return nil
}
