import NetworkWorker

NetworkWorker.run()
