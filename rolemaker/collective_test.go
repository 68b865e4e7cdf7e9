package rolemaker_test

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/rolemaker"
)

const twoWorkers = "127.0.0.1:6170,127.0.0.1:6171"

func collectiveWorker() vars {
	return vars{"PADDLE_TRAINER_ENDPOINTS": twoWorkers, "PADDLE_TRAINER_ID": "1", "PADDLE_CURRENT_ENDPOINT": "127.0.0.1:6171",
		"PADDLE_TRAINERS_NUM": "2"}
}

func TestCollective(t *testing.T) {
	for name, c := range map[string]struct {
		env  vars
		want string
	}{
		"launched":            {collectiveWorker(), "worker 1 of 2, collective: " + twoWorkers},
		"number alone":        {collectiveWorker().with("PADDLE_CURRENT_ENDPOINT", "", "PADDLE_TRAINERS_NUM", ""), "worker 1 of 2, collective: " + twoWorkers},
		"endpoint alone":      {collectiveWorker().with("PADDLE_TRAINER_ID", ""), "worker 1 of 2, collective: " + twoWorkers},
		"first":               {collectiveWorker().with("PADDLE_CURRENT_ENDPOINT", "127.0.0.1:6170", "PADDLE_TRAINER_ID", "0"), "worker 0 of 2, collective: " + twoWorkers},
		"first, by endpoint":  {collectiveWorker().with("PADDLE_CURRENT_ENDPOINT", "127.0.0.1:6170", "PADDLE_TRAINER_ID", ""), "worker 0 of 2, collective: " + twoWorkers},
		"one, counted":        {vars{"PADDLE_TRAINERS_NUM": "1"}, "worker 0 of 1, alone"},
		"with the older role": {collectiveWorker().with("PADDLE_TRAINING_ROLE", "TRAINER"), "worker 1 of 2, collective: " + twoWorkers},
		"one worker":          {vars{"PADDLE_TRAINER_ENDPOINTS": "127.0.0.1:6170", "PADDLE_TRAINER_ID": "0"}, "worker 0 of 1, alone"},
		"nothing":             {vars{}, "worker 0 of 1, alone"},
	} {
		id, err := rolemaker.Resolve(t.Context(), rolemaker.Collective{Getenv: c.env.get})
		if err != nil || id.String() != c.want {
			t.Errorf("%s: %v, error %v, want %s", name, id, err, c.want)
		}
	}
	id, err := rolemaker.FromEnvironment(collectiveWorker().get).Identity()
	if err != nil || !id.Collective || id.Local() || id.IsServer() || id.Endpoint() != "127.0.0.1:6171" {
		t.Errorf("from the environment: %v, error %v", id, err)
	}
}

func TestCollectiveRefuses(t *testing.T) {
	for want, env := range map[string]vars{
		"PADDLE_TRAINER_ID is 2, but the workers are 0 to 1":                        collectiveWorker().with("PADDLE_TRAINER_ID", "2"),
		"PADDLE_TRAINER_ID is 0, but PADDLE_CURRENT_ENDPOINT 127.0.0.1:6171":        collectiveWorker().with("PADDLE_TRAINER_ID", "0"),
		`PADDLE_CURRENT_ENDPOINT is "a:1", which is not one of`:                     collectiveWorker().with("PADDLE_CURRENT_ENDPOINT", "a:1"),
		"PADDLE_TRAINER_ID and PADDLE_CURRENT_ENDPOINT are not set":                 collectiveWorker().with("PADDLE_CURRENT_ENDPOINT", "", "PADDLE_TRAINER_ID", ""),
		"PADDLE_TRAINERS_NUM is 3, but PADDLE_TRAINER_ENDPOINTS has 2":              collectiveWorker().with("PADDLE_TRAINERS_NUM", "3"),
		"PADDLE_TRAINERS_NUM is 2, but PADDLE_TRAINER_ENDPOINTS is not set":         collectiveWorker().with("PADDLE_TRAINER_ENDPOINTS", ""),
		`TRAINING_ROLE is "PSERVER"; a collective job has workers alone`:            collectiveWorker().with("TRAINING_ROLE", "PSERVER"),
		"a collective job has no servers: use PaddleCloud":                          collectiveWorker().with("PADDLE_PSERVERS_IP_PORT_LIST", "a:1"),
		`PADDLE_TRAINER_ENDPOINTS is "127.0.0.1:0,a": endpoint "127.0.0.1:0" has p`: collectiveWorker().with("PADDLE_TRAINER_ENDPOINTS", "127.0.0.1:0,a"),
		"OMPI_COMM_WORLD_SIZE is 4, PMIX_RANK is 0: that is not for this role":      openMPI(0, 4),
	} {
		id, err := rolemaker.Resolve(t.Context(), rolemaker.Collective{Getenv: env.get})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, error %v, want %q", id, err, want)
		}
	}
}

func TestUserDefinedCollective(t *testing.T) {
	two := strings.Split(twoWorkers, ",")
	id, err := rolemaker.Resolve(t.Context(), rolemaker.UserDefinedCollective{CurrentID: 1, WorkerEndpoints: two})
	if err != nil || id.String() != "worker 1 of 2, collective: "+twoWorkers || id.IsFirstWorker() {
		t.Errorf("%v, error %v", id, err)
	}
	for want, u := range map[string]rolemaker.UserDefinedCollective{
		"WorkerEndpoints is empty":                       {},
		"CurrentID is 2, but the workers are 0 to 1":     {CurrentID: 2, WorkerEndpoints: two},
		`WorkerEndpoints: endpoint "a:1" is there twice`: {WorkerEndpoints: []string{"a:1", "a:1"}},
	} {
		if _, err := u.Identity(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, id := range []rolemaker.Identity{
		{Role: rolemaker.Server, Workers: 1, Servers: []string{"a:1"}, Collective: true},
		{Role: rolemaker.Server, Workers: 2, WorkerEndpoints: two, Collective: true},
		{Role: rolemaker.Worker, Workers: 2, WorkerEndpoints: two, Servers: []string{"a:1"}, Collective: true},
		{Role: rolemaker.Worker, Workers: 2, Collective: true, WorkerEndpoints: []string{"a:1"}},
	} {
		if id.Validate() == nil {
			t.Errorf("%v is valid", id)
		}
	}
}
