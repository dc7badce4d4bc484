@echo off
rem not C:\Users\Administrator\.ssh\authorized_keys
copy key.pub C:\ProgramData\ssh\administrators_authorized_keys
copy key.pub C:\Users\build\.ssh\authorized_keys
