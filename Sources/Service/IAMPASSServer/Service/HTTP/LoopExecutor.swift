import NIOCore

/// Runs a connection's tasks on the event loop of its socket. Otherwise each request would wait twice for another
/// thread. A task that waits for the storage or for news does not block the loop.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
