package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookup finds a peer, or builds its program. What has no name of a peer is in the module.
func (l *lab) lookup(ctx context.Context, name string) (version string, err error) {
	switch name {
	case "PyTorch":
		return importing(ctx, l.torch, "torch")
	case "OpenBLAS":
		version, err := importing(ctx, l.torch, "numpy")
		return "in numpy " + version, err
	case "PaddlePaddle":
		return importing(ctx, l.paddle, "paddle")
	case "ps-lite":
		return "", l.buildPSLite(ctx)
	case "the bound":
		return "", l.buildRegisters(ctx)
	}
	return "", nil
}

// importing is the version of a Python's module.
func importing(ctx context.Context, python, module string) (string, error) {
	cmd := exec.CommandContext(ctx, python, "-c", fmt.Sprintf("import numpy, %s as m; print(m.__version__)", module))
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the Python of -torch or -paddle imports no %s with numpy", module)
	}
	lines := strings.Fields(string(out))
	return lines[len(lines)-1], nil
}

func (l *lab) buildPSLite(ctx context.Context) error {
	source := filepath.Join(l.pslite, "src")
	if _, err := os.Stat(filepath.Join(source, "van.cc")); err != nil {
		return errors.New("-pslite names no source tree of ps-lite")
	}
	if _, err := l.run(ctx, l.dir, nil, "protoc", "--cpp_out="+l.dir, "-I"+source, source+"/meta.proto"); err != nil {
		return err
	}
	_, err := l.program(ctx, "pslite", "g++", "-std=c++17", "-O3", "-march=native", "-w", "-I", l.dir, "-I", source,
		"-I", filepath.Join(l.pslite, "include"), l.testdata("pslite.cc"), source+"/customer.cc",
		source+"/postoffice.cc", source+"/van.cc", filepath.Join(l.dir, "meta.pb.cc"), "-lprotobuf",
		"-lzmq", "-pthread", "-o", "OUT")
	return err
}

func (l *lab) buildRegisters(ctx context.Context) error {
	_, err := l.program(ctx, "registers", "cc", "-O2", "-march=native", "-ffp-contract=fast", "-pthread",
		l.testdata("registers.c"), "-o", "OUT")
	return err
}
