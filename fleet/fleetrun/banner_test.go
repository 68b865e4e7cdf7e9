package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	got := table([]variable{{"PADDLE_TRAINERS_NUM", "2"}, {"PADDLE_HETER_TRAINER_IP_PORT_LIST", ""},
		{"PADDLE_PSERVERS_IP_PORT_LIST", "127.0.0.1:36473,127.0.0.1:34943,127.0.0.1:40353"}})
	want := `
    +=======================================================================================+
    |                        Distributed Envs                      Value                    |
    +---------------------------------------------------------------------------------------+
    |                     PADDLE_TRAINERS_NUM                        2                      |
    |       PADDLE_HETER_TRAINER_IP_PORT_LIST                                               |
    |            PADDLE_PSERVERS_IP_PORT_LIST        127.0.0.1:36473,127.0.0.1:34943,       |
    |                                                         127.0.0.1:40353               |
    +=======================================================================================+
`
	if got != want[1:] {
		t.Errorf("table:\n%s\nwant\n%s", got, want)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"", "a", "aaaa,bbbb,cccc", "much-too-long-for-a-line,b,c", ",,", strings.Repeat("10.0.0.1:36000,", 40)} {
		lines := fold(list, 9)
		if strings.Join(lines, "") != list {
			t.Errorf("fold(%q) = %q loses something", list, lines)
		}
		for _, l := range lines {
			if len(l) > 9 && strings.Contains(strings.TrimSuffix(l, ","), ",") {
				t.Errorf("fold(%q): %q could be two lines", list, l)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	o, err := parseArgs([]string{"--server_num=2", "--worker_num=2", "train", "-v", "two words"})
	if err != nil {
		t.Fatal(err)
	}
	want := `
-----------  Configuration Arguments -----------
gpus: 
grace: 10s
ips: 127.0.0.1
log_dir: log
max_restart: 0
nproc_per_node: None
restart_servers: 0
restart_workers: 0
selected_gpus: 
server_num: 2
servers: 
training_script: train
training_script_args: ["-v" "two words"]
ui: 
worker_num: 2
workers: 
xpus: 
------------------------------------------------
`
	if got := arguments(o); got != want[1:] {
		t.Errorf("arguments:\n%s\nwant\n%s", got, want)
	}
}
