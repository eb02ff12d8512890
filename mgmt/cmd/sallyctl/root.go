package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/mgmt/internal/box"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// options are the flags of every command.
type options struct {
	socket, pci, state, batch string
	statistics                bool
}

// usageError is a mistake on the command line.
type usageError struct{ error }

// errUnbalanced is the failed check of the counters.
var errUnbalanced = errors.New("the counters do not balance")

func status(err error) int {
	var usage usageError
	if errors.As(err, &usage) || box.IsInput(err) {
		return exitInput
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:           "sallyctl",
		Short:         "Configure and read a Sallyport box in the words of iproute2",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.batch == "" {
				return cmd.Help()
			}
			return o.runBatch(cmd)
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.StringVar(&o.socket, "socket", "", "the simulator's register `socket` of one box")
	flags.StringVar(&o.pci, "pci", "", "the cards of one box: PCI `addresses` inner,crypto,outer")
	flags.StringVar(&o.state, "state", "", "the `file` that keeps the configuration between invocations (default: beside the socket)")
	flags.BoolVar(&o.statistics, "statistics", false, "xfrm state and policy list and get tell what was carried, as ip -s does")
	root.Flags().StringVar(&o.batch, "batch", "", "carry out the lines of a `file` (- is standard input), all or none, as ip -batch does")
	for _, object := range []struct{ name, alias, short string }{
		{"xfrm", "x", "States and policies: state|policy add|update|delete|deleteall|get|list|flush|count"},
		{"addr", "address", "Addresses: add|del ADDR/LEN dev red|black, show"},
		{"link", "l", "Ports: set dev red|black [up|down] [mtu N] [address MAC] [master BRIDGE|nomaster], show; a bridge over both: add BRIDGE type bridge, del"},
		{"route", "r", "Routes: add|replace|del PREFIX via ADDR dev red|black [mtu N], show"},
		{"neigh", "neighbour", "Neighbours: add|replace|del ADDR lladdr MAC dev red|black, show"},
		{"punt", "trap", "Limits of frames punted to the management CPU and injected by it: set GROUP|all|inject [rate N|unlimited] [burst N] [dev red|black], show"},
		{"next-hop", "nexthop", "Next hop where no route or neighbour names one: default dev red|black lladdr MAC"},
		{"reassembly", "reasm", "Limits of what waits for fragments at both ports: set [timeout TIME] [per-source N], show"},
		{"qos", "q", "Priority at both ports: set dscp DSCP … (ef, cs6, af41, numbers) or none, show"},
		{"skip-headers", "skip-header", "IPv6 extension headers skipped to find protocol and ports: set hop,route,dst or none, show"},
	} {
		root.AddCommand(&cobra.Command{
			Use: object.name + " …", Aliases: []string{object.alias}, Short: object.short,
			RunE: func(cmd *cobra.Command, args []string) error {
				return o.runLine(cmd, append([]string{object.name}, args...))
			},
		})
	}
	root.AddCommand(newCounters(o), newEvents(o), newAudit(o), newID(o), newTaps(o))
	return root
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command %q: see sallyctl --help", args[0])}
	}
	return nil
}

// open connects to the box and checks who answers.
func (o *options) open() (*chip.Box, error) {
	var t transport.Transport
	var err error
	switch {
	case o.socket != "" && o.pci != "":
		return nil, usageError{errors.New("give either --socket or --pci, not both")}
	case o.socket != "":
		t, err = transport.DialSocket(o.socket)
	case o.pci != "":
		t, err = transport.OpenPCI(strings.Split(o.pci, ","))
	default:
		return nil, usageError{errors.New("which box? Give --socket PATH (simulator) or --pci INNER,CRYPTO,OUTER (boards)")}
	}
	if err != nil {
		return nil, err
	}
	b, err := chip.Open(t)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return b, nil
}

// statePath is beside the socket, or in /run for boards, whose tables do not outlive a boot either.
func (o *options) statePath() string {
	switch {
	case o.state != "":
		return o.state
	case o.socket != "":
		return o.socket + ".state.json"
	}
	return filepath.Join("/run", "sallyport-"+strings.NewReplacer(",", "-", "/", "-").Replace(o.pci)+".state.json")
}

func (o *options) run(cmd *cobra.Command, commands []xfrm.Command) error {
	b, err := o.open()
	if err != nil {
		return err
	}
	return errors.Join(o.session(cmd, b).Run(commands), b.Close())
}

func (o *options) session(cmd *cobra.Command, b *chip.Box) *box.Session {
	return &box.Session{Box: b, StatePath: o.statePath(), Statistics: o.statistics, Out: cmd.OutOrStdout(), Notes: cmd.ErrOrStderr()}
}

func (o *options) runLine(cmd *cobra.Command, args []string) error {
	command, err := xfrm.Parse(xfrm.Words(args))
	if err != nil {
		return err
	}
	return o.run(cmd, []xfrm.Command{command})
}

func (o *options) runBatch(cmd *cobra.Command) error {
	name, input, err := readBatch(o.batch, cmd.InOrStdin())
	if err != nil {
		return usageError{err}
	}
	defer clear(input) // it holds keys
	commands, err := xfrm.ParseBatch(name, input)
	if err != nil {
		return err
	}
	return o.run(cmd, commands)
}

func readBatch(name string, stdin io.Reader) (string, []byte, error) {
	if name == "-" {
		input, err := io.ReadAll(stdin)
		return "standard input", input, err
	}
	input, err := os.ReadFile(name)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("cannot read the batch file %s: %w", name, path.Err)
	}
	return name, input, err
}
