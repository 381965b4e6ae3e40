package local

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// Frames on the socket between owner and init: length (4 bytes, big endian),
// then one gob value. Descriptors travel with the length.

// maxFrame bounds a frame: a script of 1 MiB and the environment fit well.
const maxFrame = 16 << 20

// op is what a request asks for.
type op int

const (
	opStart op = iota
	opKill
	opRead
	opWrite
	opStat
	opList
	opUnpack // descriptor: where to read the tar stream
	opPack   // descriptor: where to write the tar stream
	opSignal // Signal to Tree, Root too if asked for; answers with Pids
	opWalk   // Argv: names to skip; descriptor: where to write the listing
	opNameless
	opSweep
)

type request struct {
	ID    uint64
	Op    op
	Argv  []string
	Dir   string
	Env   map[string]string
	Stdin bool // first descriptor is stdin; then stdout; then stderr unless Merge
	Merge bool
	Path  string
	Mode  fs.FileMode
	Tree  sandbox.Tree
	Young uint64 // start time from which a process is younger than Tree.Age
	// Terminal has a start open one: no descriptors, the answer has its other side.
	Terminal bool
	Signal   sandbox.Signal
	Root     bool
}

type response struct {
	ID    uint64
	Exit  bool // a started process has ended with Code
	Code  int
	Err   string
	Gone  bool // Err is fs.ErrNotExist
	Infos []info
	Pids  []int
	NS    uint64 // of the hello: inode of the pid namespace
	Bytes int64
}

// info is an fs.FileInfo that travels.
type info struct {
	N string
	S int64
	M fs.FileMode
	T time.Time
}

func (i info) Name() string       { return i.N }
func (i info) Size() int64        { return i.S }
func (i info) Mode() fs.FileMode  { return i.M }
func (i info) ModTime() time.Time { return i.T }
func (i info) IsDir() bool        { return i.M.IsDir() }
func (i info) Sys() any           { return nil }

func infoOf(fi fs.FileInfo) info { return info{fi.Name(), fi.Size(), fi.Mode(), fi.ModTime()} }

func (r *response) fail(err error) {
	r.Err, r.Gone = err.Error(), errors.Is(err, fs.ErrNotExist)
}

// error is what fail stored.
func (r *response) error() error {
	switch {
	case r.Err == "":
		return nil
	case r.Gone:
		return goneError(r.Err)
	}
	return errors.New(r.Err)
}

// goneError is a missing path, in the words of the side that looked.
type goneError string

func (e goneError) Error() string        { return string(e) }
func (e goneError) Is(target error) bool { return target == fs.ErrNotExist }

// encode makes one frame.
func encode(v any) ([]byte, error) {
	buf := bytes.NewBuffer(make([]byte, 4))
	if err := gob.NewEncoder(buf).Encode(v); err != nil {
		return nil, err
	}
	if buf.Len() > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is over the limit of %d", buf.Len(), maxFrame)
	}
	b := buf.Bytes()
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, nil
}

// send writes a frame and its descriptors; the caller serialises calls.
func send(c *net.UnixConn, frame []byte, fds []int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = syscall.UnixRights(fds...)
	}
	n, _, err := c.WriteMsgUnix(frame, oob, nil)
	for err == nil && n < len(frame) {
		var m int
		m, err = c.Write(frame[n:])
		n += m
	}
	return err
}

// receive reads a frame into v and returns its descriptors (close-on-exec) and
// the sender's pid, where the socket passes credentials.
func receive(c *net.UnixConn, v any) (files []*os.File, pid int, err error) {
	var size [4]byte
	oob := make([]byte, syscall.CmsgSpace(3*4)+syscall.CmsgSpace(unix.SizeofUcred))
	n, on, _, _, err := c.ReadMsgUnix(size[:], oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, 0, err
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return nil, 0, err
	}
	for _, m := range messages {
		if cred, err := syscall.ParseUnixCredentials(&m); err == nil {
			pid = int(cred.Pid)
			continue
		}
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			continue // of another kind
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	if _, err = io.ReadFull(c, size[n:]); err == nil {
		err = decodeBody(c, size, v)
	}
	if err != nil {
		closeAll(files)
		return nil, 0, err
	}
	return files, pid, nil
}

func decodeBody(r io.Reader, size [4]byte, v any) error {
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return fmt.Errorf("frame of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return gob.NewDecoder(bytes.NewReader(body)).Decode(v)
}

// closeAll closes descriptors that were only passed on; a close of such a copy
// loses nothing.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
