// A Go program whose functions are watched by test_go.py. It prints what it did as a JSON object
// and then idles until its input ends.
//
//	goroutines requests|grow|panics|pairs|ends|many
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	workers       = 40
	requestsEach  = 30
	plantedID     = 777
	plantedLength = 3 * time.Second
)

type Server struct {
	moved   int64 // requests that ended on another thread than they began on
	longest int64
}

func (s *Server) note(thread int, begun time.Time) {
	if syscall.Gettid() != thread {
		atomic.AddInt64(&s.moved, 1)
	}
	for took := int64(time.Since(begun)); ; {
		longest := atomic.LoadInt64(&s.longest)
		if took <= longest || atomic.CompareAndSwapInt64(&s.longest, longest, took) {
			return
		}
	}
}

// A request that waits twice, so that it may continue on another thread.
//
//go:noinline
func (s *Server) handle(id int, length time.Duration) int {
	thread, begun := syscall.Gettid(), time.Now()
	time.Sleep(length / 2)
	runtime.Gosched()
	time.Sleep(length / 2)
	s.note(thread, begun)
	return id
}

func requests() map[string]int64 {
	server := &Server{}
	var group sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for i := 0; i < requestsEach; i++ {
				id, length := worker*requestsEach+i, time.Duration(1+i%3)*time.Millisecond
				if id == plantedID {
					length = plantedLength
				}
				server.handle(id, length)
			}
		}(worker)
	}
	group.Wait()
	return map[string]int64{"calls": workers * requestsEach, "moved": server.moved, "longest_ns": server.longest}
}

//go:noinline
func deep(depth int, filler [32]int) int {
	if depth == 0 {
		return filler[0]
	}
	filler[depth%32]++
	return deep(depth-1, filler) + 1
}

// Its stack is moved during the call: a goroutine starts with 2 KiB or 8 KiB.
//
//go:noinline
func grow(depth int) int {
	return deep(depth, [32]int{})
}

// Recursive; each call needs a new frame, for which the stack may have to grow.
//
//go:noinline
func descend(depth int, filler [64]int) int {
	if depth == 0 {
		time.Sleep(time.Millisecond)
		return filler[1]
	}
	filler[depth]++
	return descend(depth-1, filler) + grow(10*depth)
}

func growing() map[string]int64 {
	const goroutines, deepest = 60, 20
	var group sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			grow(i * 20)
			descend(deepest, [64]int{})
		}(i)
	}
	group.Wait()
	return map[string]int64{"grow": goroutines * (1 + deepest), "descend": goroutines * (1 + deepest)}
}

//go:noinline
func leave(really bool) int {
	if really {
		panic("left")
	}
	return 1
}

// A panic may pass through it, in which case it never returns.
//
//go:noinline
func passed(id int) int {
	return leave(id%2 == 0) + id
}

func guarded(id int) {
	defer func() { _ = recover() }()
	passed(id)
}

// Returns in spite of a panic because its deferred function recovers.
//
//go:noinline
func recovered(id int) (result int) {
	defer func() {
		if recover() != nil {
			result = id
		}
	}()
	return leave(id%3 == 0) + id
}

// The same with deferred functions in a loop, which the compiler stores differently.
//
//go:noinline
func recoveredInLoop(id int) (result int) {
	for i := 0; i < 2; i++ {
		defer func() {
			if recover() != nil {
				result = id
			}
		}()
	}
	return leave(id%3 == 0) + id
}

func panics() map[string]int64 {
	const calls = 300
	done := make(chan bool)
	go func() {
		for id := 0; id < calls; id++ {
			guarded(id)
			recovered(id)
			recoveredInLoop(id)
		}
		guarded(0)
		done <- true
		select {} // the goroutine lives on
	}()
	<-done
	return map[string]int64{"passed": calls + 1, "returned": calls / 2, "recovered": calls}
}

//go:noinline
func submit(queue chan<- int, priority, id int) { queue <- id }

//go:noinline
func finish(priority, id int) int { return priority + id }

// A request that one goroutine begins and another ends.
func pairs() map[string]int64 {
	const count = 500
	queue := make(chan int, 16)
	var group sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for id := range queue {
				if id == plantedID%count {
					time.Sleep(plantedLength)
				}
				finish(3, id)
			}
		}()
	}
	for id := 0; id < count; id++ {
		submit(queue, 5, id)
	}
	close(queue)
	group.Wait()
	return map[string]int64{"pairs": count}
}

//go:noinline
func end(id int) int {
	if id%2 == 0 {
		runtime.Goexit()
	}
	return id
}

// Goroutines that end in the middle of a function; no later goroutine reuses their structures and
// would reveal it.
func ends() map[string]int64 {
	const goroutines = 20
	var group sync.WaitGroup
	for id := 0; id < goroutines; id++ {
		group.Add(1)
		go func(id int) {
			defer group.Done()
			end(id)
		}(id)
	}
	group.Wait()
	return map[string]int64{"calls": goroutines, "returned": goroutines / 2}
}

//go:noinline
func short(id int) int {
	if id%16 == 0 {
		runtime.Gosched()
	}
	return id + 1
}

// Goroutines whose structures are reused over and over.
func many() map[string]int64 {
	const batches, each = 200, 100
	for batch := 0; batch < batches; batch++ {
		var group sync.WaitGroup
		for i := 0; i < each; i++ {
			group.Add(1)
			go func(i int) {
				defer group.Done()
				short(i)
			}(i)
		}
		group.Wait()
	}
	return map[string]int64{"calls": batches * each}
}

func main() {
	runtime.GOMAXPROCS(4)
	works := map[string]func() map[string]int64{
		"requests": requests, "grow": growing, "panics": panics, "pairs": pairs, "ends": ends, "many": many,
	}
	work := works[os.Args[1]]
	input := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, failure := input.ReadString('\n'); failure != nil {
		os.Exit(1)
	}
	told, _ := json.Marshal(work())
	fmt.Println(string(told))
	_, _ = io.Copy(io.Discard, input)
}
