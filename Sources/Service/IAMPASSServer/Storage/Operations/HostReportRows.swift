import IAMPASSProtocol

extension StorageEngine {
  func record(_ reports: [HostReport]) async throws {
    try await writeWithoutSync { db in
      // All servers use the same order, so that two of them do not deadlock.
      for report in reports.sorted(by: { $0.credential < $1.credential }) {
        // The credential may have been deleted meanwhile.
        try db.execute(
          """
          INSERT INTO host_report (credential, software, list_version, list_epoch)
          SELECT id, $2::text, $3::bigint, $4::bigint FROM host_credential WHERE id = $1
          ON CONFLICT (credential) DO UPDATE SET software = excluded.software, list_version = excluded.list_version,
            list_epoch = excluded.list_epoch
          WHERE host_report.software <> excluded.software OR host_report.list_version <> excluded.list_version
            OR host_report.list_epoch IS DISTINCT FROM excluded.list_epoch
          """, report.credential, report.software, report.listVersion, report.listEpoch)
      }
    }
  }
}
