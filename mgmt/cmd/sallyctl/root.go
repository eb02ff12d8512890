// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/api"
	"sallyport/mgmt/api/client"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/place"
	"sallyport/mgmt/internal/session"
)

// options are the flags of every command.
type options struct {
	place.Place
	state, batch, daemon string
	server               server
	lists                session.Lists
}

// usageError is a mistake on the command line.
type usageError struct{ error }

// Checks that have failed, and said what.
var (
	errUnbalanced = errors.New("the counters do not balance")
	errUnread     = errors.New("not every card could be read")
)

func status(err error) int {
	var usage usageError
	var refused *control.Refused
	if errors.As(err, &usage) || session.IsRefused(err) || errors.As(err, &refused) && refused.Input {
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
	flags.StringVar(&o.daemon, "daemon", "", "the control socket `path` of the sallyportd that has the box; its API is used, beside it (default: "+control.DefaultPath+", if the API is there)")
	flags.Lookup("daemon").NoOptDefVal = control.DefaultPath
	o.server.addTo(flags)
	flags.StringVar(&o.Socket, "socket", "", "the simulator's register `socket` of one box")
	flags.StringVar(&o.PCI, "pci", "", "the cards of one box: the PCI `address` of the crypto card, or of all three as inner,crypto,outer")
	flags.StringVar(&o.state, "state", "", "the `file` that keeps the configuration between invocations (default: beside the socket, or in /run/sallyport)")
	flags.BoolVar(&o.lists.JSON, "json", false, "print JSON: lists as ip -j does, events a line each")
	flags.BoolVar(&o.lists.Statistics, "statistics", false, "xfrm state and policy list and get tell what was carried, as ip -s does")
	root.Flags().StringVar(&o.batch, "batch", "", "carry out the lines of a `file` (- is standard input), all or none, as ip -batch does")
	for _, object := range []struct{ name, alias, short string }{
		{"xfrm", "x", "States and policies: state|policy add|update|delete|deleteall|get|list|flush|count"},
		{"addr", "address", "Addresses: add|del ADDR/LEN dev red|black, show"},
		{"link", "l", "Ports: set dev red|black [up|down] [mtu N] [address MAC] [master BRIDGE|nomaster], show; a bridge over both: add BRIDGE type bridge, del; a VLAN or an XFRM interface into a VRF: set NAME master VRF|nomaster"},
		{"route", "r", "Routes: add|replace|del PREFIX via ADDR dev red|black [mtu N], show"},
		{"neigh", "neighbour", "Neighbours: add|replace|del ADDR lladdr MAC dev red|black, show"},
		{"vrf", "v", "VRFs, with what Linux has for them: show"},
		{"punt", "trap", "Limits of frames punted to the management CPU and injected by it: set GROUP|all|inject [rate N|unlimited] [burst N] [dev red|black], show"},
		{"next-hop", "nexthop", "Next hop where no route or neighbour names one: default dev red|black lladdr MAC"},
		{"reassembly", "reasm", "Limits of what waits for fragments at both ports: set [timeout TIME] [per-source N], show"},
		{"qos", "q", "Priority at both ports: set dscp DSCP … (ef, cs6, af41, numbers) or none, show"},
		{"skip-headers", "skip-header", "IPv6 extension headers skipped to find protocol and ports: set hop,route,dst or none, show"},
	} {
		root.AddCommand(&cobra.Command{
			Use: object.name + " …", Aliases: []string{object.alias}, Short: object.short,
			RunE: func(cmd *cobra.Command, args []string) error {
				return o.with(cmd, func(t target) error { return t.command(append([]string{object.name}, args...)) })
			},
		})
	}
	root.AddCommand(newCounters(o), newEvents(o), newAudit(o), newMonitor(o), newID(o), newCard(o), newSelfTest(o), newPair(o), newConfig(o), newYANG(o))
	return root
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command %q: see sallyctl --help", args[0])}
	}
	return nil
}

// with gives the box to `use`: through its daemon, or directly.
func (o *options) with(cmd *cobra.Command, use func(target) error) error {
	given := 0
	for _, way := range []string{o.daemon, o.server.address, o.Socket, o.PCI} {
		if way != "" {
			given++
		}
	}
	path := o.daemon
	if given == 0 && isSocket(api.DefaultPath) {
		path = usable(api.DefaultPath)
	}
	switch {
	case given > 1:
		return usageError{errors.New("give one of --daemon, --server, --socket and --pci, not both")}
	case o.server.address == "" && o.server.alone() != "":
		return usageError{fmt.Errorf("--%s is for --server alone", o.server.alone())}
	case (path != "" || o.server.address != "") && o.state != "":
		return usageError{errors.New("--state is not for --daemon or --server: sallyportd's configuration names its state file")}
	case path != "":
		return o.through(cmd, func() *client.Client { return client.Dial(api.Path(path)) }, use)
	case o.server.address != "":
		config, err := o.server.config()
		if err != nil {
			return usageError{err}
		}
		return o.through(cmd, func() *client.Client { return client.DialTLS(o.server.address, config) }, use)
	case given == 0:
		return usageError{errors.New("which box? Give --daemon PATH (sallyportd), --server HOST:PORT (sallyportd of another machine), --socket PATH (simulator), --pci CRYPTO or --pci INNER,CRYPTO,OUTER (cards)")}
	}
	if o.PCI != "" {
		if _, err := place.Parse("pci:" + o.PCI); err != nil {
			return usageError{err}
		}
	}
	return use(&direct{place: o.Place, state: cmp.Or(o.state, o.State()), lists: o.lists, out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr()})
}

// through gives a box to `use` that a daemon has.
func (o *options) through(cmd *cobra.Command, dial func() *client.Client, use func(target) error) error {
	return use(&remote{dial: dial, lists: o.lists, out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr()})
}

// usable is the socket of a daemon that this user may use: where only the readers' is, that one.
func usable(path string) string {
	if read := api.ReadPath(path); unix.Access(path, unix.W_OK) != nil && unix.Access(read, unix.W_OK) == nil {
		return read
	}
	return path
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() == fs.ModeSocket
}

func (o *options) runBatch(cmd *cobra.Command) error {
	name, input, err := readBatch(o.batch, cmd.InOrStdin())
	if err != nil {
		return usageError{err}
	}
	defer clear(input) // it holds keys
	if o.lists.JSON {
		return usageError{errors.New("-json is for one command, not for the lines of a batch file")}
	}
	return o.with(cmd, func(t target) error { return t.batch(name, input) })
}

func readBatch(name string, stdin io.Reader) (string, []byte, error) {
	if name == "-" {
		input, err := io.ReadAll(stdin)
		return "standard input", input, err
	}
	input, err := os.ReadFile(name)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("cannot read %s: %w", name, path.Err)
	}
	return name, input, err
}
