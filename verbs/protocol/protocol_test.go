package protocol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layouts are our structs by the names that they have in protocol.h.
var layouts = map[string]any{
	"gr_header": Header{}, "gr_hello": Hello{}, "gr_device": Device{}, "gr_port": Port{},
	"gr_handle": Handle{}, "gr_reg_mr": RegMR{}, "gr_mr": MR{}, "gr_create_cq": CreateCQ{},
	"gr_cq": CQ{}, "gr_create_srq": CreateSRQ{}, "gr_ring": Ring{}, "gr_srq": SRQ{},
	"gr_modify_srq": ModifySRQ{}, "gr_create_qp": CreateQP{}, "gr_qp": QP{}, "gr_path": Path{},
	"gr_qp_attr": QPAttr{}, "gr_create_ah": CreateAH{}, "gr_event": Event{}, "gr_cq_head": CQHead{},
	"gr_cm_addr": CMAddr{}, "gr_cm_create_id": CMCreateID{}, "gr_cm_reported": CMReported{},
	"gr_cm_handle_value": CMHandleValue{}, "gr_cm_resolve": CMResolve{}, "gr_cm_route": CMRoute{},
	"gr_cm_param": CMParam{}, "gr_cm_connect": CMConnect{}, "gr_cm_event": CMEvent{},
	"gr_cm_option": CMOption{},
	"gr_cqe":       CQE{}, "gr_wqe": WQE{}, "gr_sge": SGE{}, "gr_rqe": RQE{},
}

// constants are ours by the names that they have in protocol.h.
var constants = map[string]int{
	"GR_VERSION": Version, "GR_MAX_MESSAGE": MaxMessage, "GR_MAX_GIDS": MaxGIDs,
	"GR_QUEUES": Queues, "GR_TAILS": TailsOffset, "GR_HEADS": HeadsOffset,
	"GR_SESSION_SIZE": SessionSize, "GR_WAKE_SIZE": WakeSize, "GR_WQE_BODY": WQEBody,
	"GR_WQE_ATOMIC": WQEAtomic, "GR_WQE_SIZE": WQESize, "GR_ARMED": int(Armed),
	"GR_ARMED_SOLICITED": int(ArmedSolicited), "GR_VOID": Void, "GR_HELLO": int(OpHello),
	"GR_SHARE_MEMORY": int(OpShareMemory), "GR_CREATE_QP": int(OpCreateQP),
	"GR_RESIZE_CQ": int(OpResizeCQ), "GR_FIRST_CM_OP": int(FirstCM),
	"GR_CM_SET_OPTION": int(OpCMSetOption), "GR_MAX_PRIVATE": MaxPrivate,
	"offsetof(struct gr_cm_event, route)":          36,
	"offsetof(struct gr_cm_connect, private_data)": 32,
	"offsetof(struct gr_cm_resolve, source)":       8,
	"sizeof(struct gr_sge)":                        SGESize, "sizeof(struct gr_rqe)": RQEBody,
	"offsetof(struct gr_cqe, sequence)":  28,
	"offsetof(struct gr_qp_attr, path)":  40,
	"offsetof(struct gr_device, gids)":   72,
	"offsetof(struct gr_create_qp, srq)": 24,
}

// The C header and this package have the same layouts: a C program prints its own.
func TestLayouts(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	require.NoError(t, err, "cgo of package dpdk needs it too")
	var b strings.Builder
	b.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include \"cm_protocol.h\"\n" +
		"int main(void){\n")
	for name := range layouts {
		fmt.Fprintf(&b, "printf(\"%s %%zu\\n\", sizeof(struct %s));\n", name, name)
	}
	for name := range constants {
		fmt.Fprintf(&b, "printf(\"%s=%%zu\\n\", (size_t)(%s));\n", name, name)
	}
	b.WriteString("return 0;}\n")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	require.NoError(t, os.WriteFile(source, []byte(b.String()), 0o600))
	out, err := exec.Command(gcc, "-Wall", "-Werror", "-I../librdmacm", "-o", program,
		source).CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.Command(program).Output()
	require.NoError(t, err)
	for name, v := range layouts {
		require.Contains(t, string(out), fmt.Sprintf("%s %d\n", name, binary.Size(v)))
	}
	for name, v := range constants {
		require.Contains(t, string(out), fmt.Sprintf("%s=%d\n", name, v))
	}
}

func TestRoundTrip(t *testing.T) {
	want := QPAttr{Handle: 7, Mask: 1, State: 3, RQPSN: 0xabcdef, PKeyIndex: 5, RetryCount: 7,
		Path: Path{DGID: [16]byte{10: 0xff, 15: 9}, HopLimit: 64}}
	m, err := Append(nil, Header{Op: OpModifyQP}, &want)
	require.NoError(t, err)
	h, body, err := ParseHeader(m)
	require.NoError(t, err)
	require.Equal(t, OpModifyQP, h.Op)
	got, err := Decode[QPAttr](body)
	require.NoError(t, err)
	require.Equal(t, want, got)

	_, err = Decode[Handle](body)
	require.ErrorIs(t, err, ErrMalformed)
	_, _, err = ParseHeader(m[:HeaderSize-1])
	require.ErrorIs(t, err, ErrMalformed)
	_, _, err = ParseHeader(make([]byte, MaxMessage+1))
	require.ErrorIs(t, err, ErrMalformed)
}

func TestStrides(t *testing.T) {
	require.Equal(t, 64, SendStride(1, 0))
	require.Equal(t, 64, SendStride(2, 32))
	require.Equal(t, 128, SendStride(3, 0))
	require.Equal(t, 256, SendStride(1, 220))
	require.Equal(t, 48, RecvStride(2))
}

// Any message is refused or decodes to what encodes to it.
func FuzzDecode(f *testing.F) {
	for op, body := range map[Op]any{OpRegMR: RegMR{Addr: 1 << 40, Length: 4096, PD: 1},
		OpCreateQP: CreateQP{Type: 2, MaxSendWR: 128}, OpModifyQP: QPAttr{Mask: 1}} {
		m, err := Append(nil, Header{Op: op}, body)
		require.NoError(f, err)
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, m []byte) {
		h, body, err := ParseHeader(m)
		if err != nil {
			return
		}
		again := func(v any, err error) {
			if err != nil {
				require.ErrorIs(t, err, ErrMalformed)
				return
			}
			out, err := Append(nil, h, v)
			require.NoError(t, err)
			require.Len(t, out, len(m))
			require.True(t, bytes.Equal(out[:HeaderSize], m[:HeaderSize]))
		}
		r, err := Decode[RegMR](body)
		again(&r, err)
		q, err := Decode[CreateQP](body)
		again(&q, err)
		a, err := Decode[QPAttr](body)
		again(&a, err)
	})
}
