import NIOCore

/// Runs a connection's tasks on the event loop that its bytes come and go by. Otherwise each request would wait twice for
/// another thread. What waits for the storage or for news leaves the loop to others.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
