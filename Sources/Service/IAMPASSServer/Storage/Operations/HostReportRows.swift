import GRDB
import IAMPASSProtocol

extension SQLiteStorage: HostReportStore {
  func note(_ reports: [HostReport]) async throws {
    try await note { db in
      for report in reports {
        // The credential may be gone by now.
        try db.run(
          """
          INSERT INTO host_report (credential, software, list_version, list_epoch)
          SELECT id, ?2, ?3, ?4 FROM host_credential WHERE id = ?1
          ON CONFLICT (credential) DO UPDATE SET software = excluded.software, list_version = excluded.list_version,
            list_epoch = excluded.list_epoch
          """, [report.credential, report.software, report.listVersion, report.listEpoch])
      }
    }
  }
}
